// Where everything lies for given input shapes: the shape rules run on numbers, and what they tell is placed
// in arenas.
#pragma once

#include <span>
#include <vector>

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
    output,     // an output of the graph: bound, or at `offset` of the output buffer
    alias,      // the memory of its root
    run         // only the run knows its shape
  };
  Place place = Place::elsewhere;
  bool known = false;  // is the shape known?
  DataType type = DataType::undefined;
  Shape shape;
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
  std::vector<OutputSlot> outputs;  // by output
  std::vector<size_t> arena;        // bytes by memory space
  size_t workspace = 0;             // host bytes
  size_t output_bytes = 0;          // with nothing bound
  uint64_t last_used = 0;
  std::vector<StepCost> costs;  // by step; empty until a profile wants them

  /// Puts everything where a layout of greater sizes has it; false where something does not fit there.
  bool place_as(const Layout& greater);
};

/// Runs the shape rules and places the values. Throws what the rules throw, told the node.
Layout make_layout(const Program& program, size_t graph, const ShapeKey& key);

}  // namespace lathe
