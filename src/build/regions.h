// Which elementwise operators become one step, alone or behind the kernel that computes what they start from.
//
// A region grows from its last operator towards its inputs: it takes in whatever makes an operand of the same
// shape that nobody else reads. So an intermediate result never has to be in memory, and every edge that was
// not fused has a reason, which is kept. Truths are numbers in a program: masks and what they choose are
// fused too. So are numbers of other types than float32; but behind a kernel that one alone is computed, so
// what goes there is settled first.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

struct Region {
  NodeId anchor = no_id;      // its kernel computes operand 0 of the program; none: the program stands alone
  std::vector<NodeId> nodes;  // elementwise, in order; what the last one makes is the result
  Pointwise program;
  std::vector<ValueId> operands;  // of the program, without the anchor's
};

class Regions {
 public:
  /// No regions.
  Regions() = default;
  /// `order`: the nodes that are lowered, producers first.
  Regions(const Graph& graph, const std::vector<NodeId>& order, const KernelCatalog& kernels,
          const Preference& preference);

  /// The region whose last node this is; null: none.
  const Region* ending_at(NodeId n) const;
  /// Is the node in a region, but not its last? Then that one stands for it.
  bool is_swallowed(NodeId n) const;
  /// The last node of the region that this one is in; itself where it is in none.
  NodeId last_of(NodeId n) const;
  /// Why what this node reads was not fused with it: "Conv: its result is read elsewhere too".
  std::vector<std::string> reasons(NodeId n) const;
  /// What of a region makes a value inside it. Of truths without the anchor: its result is an operand.
  Region up_to(const Region& r, ValueId v) const;

 private:
  friend class RegionMaker;
  const Graph* graph_ = nullptr;
  std::map<NodeId, Pointwise> programs_;  // of elementwise nodes, over their inputs
  std::map<NodeId, Region> regions_;      // by last node
  std::map<NodeId, NodeId> last_;         // of every node in a region
  std::map<NodeId, std::vector<std::string>> reasons_;
};

}  // namespace lathe
