// The cheapest way to part a network in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe {

/// A directed network between a source and a sink, for some thousands of edges: paths are found one by one,
/// the shortest first (Edmonds and Karp).
class MinCut {
 public:
  static constexpr size_t source = 0, sink = 1;
  static constexpr int64_t never = INT64_MAX / 4;  // the cost of an edge that must not be cut

  size_t add_node() {
    edges_of_.emplace_back();
    return edges_of_.size() - 1;
  }
  /// The cost is paid if `from` ends up on the source's side and `to` does not.
  void add_edge(size_t from, size_t to, int64_t cost);
  /// Returns for each node whether it is on the source's side. Of several cheapest cuts it takes the one with
  /// the fewest nodes there.
  std::vector<bool> source_side();

 private:
  struct Edge {
    size_t to;
    int64_t left;  // remaining capacity
  };
  bool push_one_path();
  std::vector<size_t> reach() const;  // by node: the edge that leads there; SIZE_MAX: none

  std::vector<Edge> edges_;  // each is followed by its reverse
  std::vector<std::vector<size_t>> edges_of_ = std::vector<std::vector<size_t>>(2);
};

}  // namespace lathe
