// Decides which elementwise operators become one step, alone or behind the kernel that computes an operand.
//
// A region grows from its last operator towards its inputs: it takes in each operator that makes an operand
// of the same shape that nothing else reads. So an intermediate result never has to be in memory, and every
// edge that was not fused has a reason, which is kept. Booleans are numbers in a program: masks and
// selections by them are fused too. So are numbers of other types than float32. But behind a kernel programs
// compute float32 alone, so the regions of kernels are determined first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

struct Region {
  NodeId anchor =
      no_id;  // its kernel computes operand 0 of the program; none: the program is a step of its own
  std::vector<NodeId> nodes;  // elementwise, in order; what the last one makes is the result
  Pointwise program;
  std::vector<ValueId> operands;  // of the program, without the anchor's
};

class Regions {
 public:
  /// No regions.
  Regions() = default;
  /// `order`: the nodes that are lowered, producers first. `target` has a Fusion, and outlives the regions.
  Regions(const Graph& graph, const std::vector<NodeId>& order, const KernelCatalog& kernels,
          const Preference& preference, const Target& target);

  /// The region whose last node this is; null: none.
  const Region* ending_at(NodeId n) const;
  /// Returns whether the node is in a region, but not its last: then the last one is lowered for it.
  bool is_fused(NodeId n) const;
  /// The last node of the region that this one is in; the node itself if it is in none.
  NodeId last_of(NodeId n) const;
  /// Returns why inputs of this node were not fused with it: "Conv: its result is read elsewhere too".
  std::vector<std::string> reasons(NodeId n) const;
  /// The region of one elementwise node alone; nothing where the target has no program for it.
  std::optional<Region> alone(NodeId n) const;
  /// The part of a region that makes a value inside it. For booleans it is without the anchor, whose result
  /// is an operand. Nothing where the target takes the whole, but not this part.
  std::optional<Region> up_to(const Region& r, ValueId v) const;

 private:
  friend class RegionMaker;
  const Graph* graph_ = nullptr;
  const Target* target_ = nullptr;
  std::map<NodeId, Pointwise> programs_;  // of elementwise nodes, over their inputs
  std::map<NodeId, Region> regions_;      // by last node
  std::map<NodeId, NodeId> last_;         // of every node in a region
  std::map<NodeId, std::vector<std::string>> reasons_;
};

}  // namespace lathe
