// Where everything lies for given input shapes: the shape rules run on numbers, and what they tell is placed
// in arenas.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "runtime/branches.h"
#include "runtime/program.h"
#include "runtime/step_cost.h"

namespace lathe {

/// The shapes of what enters a graph: for each input, then each captured value, its rank and its sizes; -1
/// where it is no tensor.
using ShapeKey = std::vector<int64_t>;
void append_to_key(ShapeKey& key, const Value& v);
void append_to_key(ShapeKey& key, const Shape& s);

/// One value.
struct Slot {
  enum class Place : uint8_t {
    elsewhere,  // an input, a constant, a captured value, or not a tensor
    arena,      // at `offset` of the arena of its memory space
    output,     // at `offset` of `home`, an output of the graph: bound, or in the output buffer
    alias,      // at `offset` of `home`, another value
    run         // only the run knows its shape
  };
  Place place = Place::elsewhere;
  bool known = false;    // is the shape known?
  bool settled = false;  // does it lie at the same address in every run, as long as the arena does?
  DataType type = DataType::undefined;
  Shape shape;
  uint32_t home = 0;
  size_t offset = 0;
  size_t bytes() const { return bytes_for(type, static_cast<size_t>(count_of(shape))); }
};

/// An output of the graph in the output buffer: those made by a step, and copies of what merely passes
/// through.
struct OutputSlot {
  size_t offset = 0, bytes = 0;
};

struct Layout {
  ShapeKey key;
  std::vector<Slot> slots;          // by value
  bool decided_by_runs = false;     // is any value's shape known to a run alone?
  std::vector<OutputSlot> outputs;  // by output
  std::vector<size_t> arena;        // bytes by memory space
  size_t workspace = 0;             // host bytes
  size_t scratch = 0;               // host bytes, of steps that say beforehand how much
  std::vector<Branches> branches;   // in order of their steps
  std::vector<size_t> lanes;        // host bytes of workspace by lane of branches
  size_t output_bytes = 0;          // with nothing bound
  uint64_t last_used = 0;
  std::vector<std::vector<bool>> in_place;  // by step, of one with parts: does each lie where it belongs?
  std::vector<bool> done;                   // by step: once its output is bound, is there nothing left to do?
  /// By step: do its outputs and its epilogue's operands keep their addresses? Not once the kernel has set an
  /// output of its own; no bits of one byte, since lanes of branches say so.
  std::vector<char> stays_bound;
  std::vector<StepCost> costs;  // by step; empty until a profile wants them

  /// Are its arenas no larger than the other's?
  bool fits_in(const Layout& other) const {
    return std::ranges::equal(arena, other.arena, std::less_equal{});
  }
  /// Are the shapes of all that a step reads and makes known before it runs?
  bool knows_operands(const ProgramStep& s) const;
  /// Bytes of the heap that it keeps itself.
  size_t records() const;
  /// Puts everything where a layout of greater sizes has it, both of them plain; false where something does
  /// not fit there.
  bool place_as(const Layout& greater);
};

/// Runs the shape rules and places the values. `plain`: each in memory of its own, and one step after the
/// other; only what is placed so may be moved by place_as(). Throws what the rules throw, told the node.
Layout make_layout(const Program& program, size_t graph, const ShapeKey& key, bool plain = false);

/// What a step is spared by where its operands lie: "copies 1 of 3 parts", "writes over x"; empty: nothing.
std::string describe_memory(const ProgramGraph& graph, size_t step, const Layout& layout);

}  // namespace lathe
