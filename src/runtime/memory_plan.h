// The memory plan for given input shapes: shape rules compute the shapes of all values, which are then placed
// in arenas.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "runtime/branches.h"
#include "runtime/program.h"
#include "runtime/shape_key.h"
#include "runtime/step_cost.h"

namespace lathe {

/// One value.
struct Slot {
  enum class Place : uint8_t {
    elsewhere,  // an input, a constant, a captured value, or not a tensor
    arena,      // at `offset` of the arena of its memory space
    output,     // at `offset` of `home`, an output of the graph: bound, or in the output buffer
    alias,      // at `offset` of `home`, another value
    state,      // where the caller keeps a state
    run         // only the run knows its shape
  };
  Place place = Place::elsewhere;
  bool known = false;           // is the shape known? If not, `shape` is a bound, unless the place is `run`
  bool follows = false;         // if it is not known: is it what the plan says of the symbols' sizes?
  bool stable_address = false;  // does it lie at the same address in every run, as long as the arena does?
  DataType type = DataType::undefined;
  Shape shape;
  uint32_t home = 0;
  size_t offset = 0;
  size_t bytes() const { return bytes_for(type, static_cast<size_t>(count_of(shape))); }
};

/// The place of an output in the output buffer, which has the outputs of steps and copies of inputs that are
/// outputs.
struct OutputSlot {
  size_t offset = 0, bytes = 0;
};

struct MemoryPlan {
  ShapeKey key;
  std::vector<Slot> slots;               // by value
  bool decided_by_runs = false;          // is any value's shape known to a run alone?
  std::vector<OutputSlot> outputs;       // by output
  std::vector<size_t> arena;             // bytes by memory space
  size_t workspace = 0;                  // host bytes
  std::vector<size_t> device_workspace;  // bytes by memory space; empty: none wants any
  size_t scratch = 0;                    // host bytes, of steps that say beforehand how much
  std::vector<Branches> branches;        // in order of their steps
  std::vector<size_t> lanes;             // host bytes of workspace by lane of branches
  size_t output_bytes = 0;               // with nothing bound
  uint64_t last_used = 0;
  std::vector<std::vector<bool>> in_place;  // by step, of one with subviews: does each lie where it belongs?
  std::vector<bool> done;                   // by step: once its output is bound, is there nothing left to do?
  /// By step: true if its outputs and its epilogue's operands keep their addresses. False once the kernel has
  /// set an output of its own. These are bytes and not bits, since lanes of branches write them.
  std::vector<char> stays_bound;
  std::vector<StepCost> costs;  // by step; empty until a profile wants them

  /// Returns whether its arenas are no larger than the other's.
  bool fits_in(const MemoryPlan& other) const {
    return std::ranges::equal(arena, other.arena, std::less_equal{});
  }
  /// Returns whether the shapes of all inputs and outputs of a step are known before it runs.
  bool knows_operands(const ProgramStep& s) const;
  /// Bytes of the heap that the plan itself takes.
  size_t records() const;
  /// Puts everything where a memory plan of greater sizes has it, both of them without reuse; false where
  /// something does not fit there.
  bool place_as(const MemoryPlan& greater);
};

/// The number of memory plans that a frame keeps.
inline constexpr size_t kept_memory_plans = 8;

/// Runs the shape rules and places the values. `without_reuse`: each in memory of its own, and one step after
/// the other; place_as() needs such a plan. Throws what the rules throw, with the node.
MemoryPlan plan_memory(const Program& program, size_t graph, const ShapeKey& key, bool without_reuse = false);
/// The memory plan of a run: for `key` with lengths rounded up, unless the rounded sizes contradict each
/// other, because a model declares less than it wants; then for the sizes as they are, `exact`.
MemoryPlan plan_run(const Program& program, size_t graph, const ShapeKey& key, const ShapeKey& exact,
                    bool without_reuse = false);

/// Says what the places of its operands save a step: "copies 1 of 3 parts", "writes over x"; empty: nothing.
std::string describe_memory(const ProgramGraph& graph, size_t step, const MemoryPlan& memory_plan);

}  // namespace lathe
