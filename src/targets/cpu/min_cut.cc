#include "targets/cpu/min_cut.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr size_t none = SIZE_MAX, start = SIZE_MAX - 1;

}  // namespace

void MinCut::add_edge(size_t from, size_t to, int64_t cost) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, cost});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

std::vector<size_t> MinCut::reach() const {
  std::vector<size_t> by(edges_of_.size(), none), queue{source};
  by[source] = start;
  for (size_t i = 0; i < queue.size(); ++i)
    for (size_t e : edges_of_[queue[i]])
      if (edges_[e].left > 0 && by[edges_[e].to] == none) {
        by[edges_[e].to] = e;
        queue.push_back(edges_[e].to);
      }
  return by;
}

bool MinCut::push_one_path() {
  const std::vector<size_t> by = reach();
  if (by[sink] == none) return false;
  const auto before = [&](size_t node) { return edges_[by[node] ^ 1].to; };
  int64_t flow = never;
  for (size_t at = sink; at != source; at = before(at)) flow = std::min(flow, edges_[by[at]].left);
  for (size_t at = sink; at != source; at = before(at)) {
    edges_[by[at]].left -= flow;
    edges_[by[at] ^ 1].left += flow;
  }
  return true;
}

std::vector<bool> MinCut::source_side() {
  while (push_one_path()) {
  }
  std::vector<bool> side;
  for (size_t e : reach()) side.push_back(e != none);
  return side;
}

}  // namespace lathe
