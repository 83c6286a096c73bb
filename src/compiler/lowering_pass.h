// A pass of a build's second phase, which changes a graph for the target that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace lathe {

class Graph;
struct LoweringContext;

/// Facts that a pass needs: of the target and the options, or provided by passes before it.
enum LoweringFact : uint16_t {
  nothing = 0,
  has_vectors = 1,        // an instruction set other than generic
  fixed_weights = 2,      // no weight is exchanged later
  bfloat16_products = 4,  // the requested precision
  widened_floats = 8,     // a model of 16-bit floats calculates in float32
  channel_blocks = 16,    // values in nChw16c
};

/// When a target's pass runs.
enum class LoweringStage : uint8_t {
  integer_weights,     // before what is left of integer weights becomes floats
  integer_arithmetic,  // weights are floats, or what the target keeps; quantized operators are found
  layout,              // weights have their types
};

struct LoweringPass {
  std::string_view name, description;
  std::string_view target = {};                 // whose pass it is; empty: of all
  LoweringStage stage = LoweringStage::layout;  // of a target's pass
  uint16_t needs = nothing;                     // LoweringFact
  uint16_t provides = nothing;                  // if it changed the graph
  /// Changes the graph, and returns whether it did. The driver then removes nodes that nothing reads.
  std::function<bool(LoweringContext&, Graph&)> run = {};
  /// The driver runs it for the bodies of nodes too, each behind the graph that it is in.
  bool in_bodies = false;
  /// Constants that it narrows replace wider ones: folding them costs nothing of the budget.
  bool narrows_constants = false;
  /// The plan needs it: it cannot be left out, and runs at every level. A target's other passes run at the
  /// level "all", and where no search keeps nodes apart.
  bool required = false;
};

}  // namespace lathe
