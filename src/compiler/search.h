// Settings of a build that fault localization, and saving an optimized graph, vary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace lathe {

struct LoweringPass;
struct Target;

struct Search {
  const PassList* passes = nullptr;                     // to choose from; null: all_passes()
  const std::vector<LoweringPass>* lowering = nullptr;  // in their order; null: lowering_passes()
  const Target* target = nullptr;  // a device whose lowering passes may be left out by name too; null: none
  size_t stop_after = SIZE_MAX;    // patches, over all rounds of the optimizer
  bool dequantize = true;          // false: weights that are stored as integers stay so, as files require
  int newest_opset = 0;            // no pass adds an operator that came later; 0: any
  bool for_others = false;         // the graph is to be written: it keeps to what other runtimes support
  int written_opset = 0;           // then: no older opset will be written
  bool fuse = true;                // false: no region, whatever the level
  /// After so many passes of compiler/lowering_passes.h that can be left out have changed the graph, no other
  /// one runs.
  size_t lowering_changes = SIZE_MAX;
  std::vector<std::string_view>* lowered =
      nullptr;  // receives the names of those that did; null: nobody asks
  /// Nodes of the graph that is lowered, or of its bodies, that are left to the reference and are in no
  /// region. Empty: none.
  std::function<bool(const Graph&, NodeId)> by_reference = {};
};

}  // namespace lathe
