#include "ops/trees/fast_forest.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

FastForest::FastForest(const Forest& forest) {
  if (constexpr size_t most = size_t{1} << 28; forest.branches.size() > most || forest.votes.size() > most ||
                                               forest.features > static_cast<int64_t>(most)) {
    refusal_ = "more branches, votes or features than are counted";
    return;
  }
  add_two();  // stays empty: a leaf stores the index before its own
  std::vector<char> seen(forest.branches.size());
  for (size_t root : forest.roots) {
    roots_.push_back(add(forest, root, seen));
    if (!refusal_.empty()) return;
  }
  uint32_t any = 0, all = flags - 1;
  bool single = true;
  values_.resize(nodes_.size());
  for (size_t i = 2; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    if (n.next > i) {
      any |= n.feature % flags;
      all &= n.feature % flags;
    } else if (n.next != 0) {  // a leaf, and not the unused node beside a root
      const auto [first, end] = votes_[i];
      single = single && end == first + 1 && forest.votes[first].target == 0;
      if (single) values_[i] = forest.votes[first].weight;
    }
  }
  if (!single) values_ = {};
  kind_ = any == 0 ? Kind::at_most : any == strict && all == strict ? Kind::less : Kind::various;
}

uint32_t FastForest::add_two() {
  const size_t first = nodes_.size();
  nodes_.resize(first + 2, {nan, 0, 0});
  votes_.resize(first + 2);
  return static_cast<uint32_t>(first);
}

/// Adds a tree, one level after the other; returns the index of its root.
uint32_t FastForest::add(const Forest& forest, size_t root, std::vector<char>& seen) {
  struct Place {
    size_t branch;
    uint32_t at;
    int depth;
  };
  std::vector<Place> places;
  int deepest = 0;
  const auto take = [&](size_t branch, uint32_t at, int depth) {
    if (seen[branch]++ != 0) refusal_ = "branches that are shared, or go round in a circle";
    places.push_back({branch, at, depth});
    deepest = std::max(deepest, depth);
  };
  const uint32_t first = add_two();
  take(root, first, 0);
  for (size_t i = 0; i < places.size() && refusal_.empty(); ++i) {
    const auto [branch, at, depth] = places[i];
    const Forest::Branch& b = forest.branches[branch];
    if (b.mode == BranchMode::leaf) {
      nodes_[at] = {nan, 0, at - 1};
      votes_[at] = {static_cast<uint32_t>(b.first_leaf), static_cast<uint32_t>(b.end_leaf)};
      continue;
    }
    if (b.mode == BranchMode::member) {
      refusal_ = "branches by sets";
      break;
    }
    // NaN compares with nothing, but everything differs from it.
    const bool compares = b.split == b.split;
    const bool swapped = compares && (b.mode == BranchMode::greater || b.mode == BranchMode::greater_equal ||
                                      b.mode == BranchMode::differ);
    const uint32_t next = add_two();
    uint32_t flag = 0;
    if (b.missing_is_true != swapped) flag |= missing_is_true;
    if (compares && (b.mode == BranchMode::equal || b.mode == BranchMode::differ)) flag |= equals;
    if (b.mode == BranchMode::less || b.mode == BranchMode::greater_equal) flag |= strict;
    const bool always = !compares && b.mode == BranchMode::differ;
    nodes_[at] = {always ? std::numeric_limits<double>::infinity() : b.split,
                  flags * static_cast<uint32_t>(b.feature) + flag, next};
    take(swapped ? b.otherwise : b.then, next, depth + 1);
    take(swapped ? b.then : b.otherwise, next + 1, depth + 1);
  }
  depth_.push_back(deepest);
  return first;
}

template <FastForest::Kind kind>
void FastForest::walk(int steps, const double* const (&rows)[lanes], uint32_t (&at)[lanes]) const {
  const Node* const nodes = nodes_.data();
  for (int s = 0; s < steps; ++s) {
    uint32_t moved = 0;
    for (int i = 0; i < lanes; ++i) {
      const Node& n = nodes[at[i]];
      const double x = rows[i][n.feature / flags];
      bool holds = kind == Kind::less ? x < n.split : x <= n.split;
      if constexpr (kind == Kind::various) {
        const bool less = x < n.split;
        if (n.feature & strict) holds = less;
        if (n.feature & equals) holds = holds && !less;
        if (n.feature & missing_is_true) holds = holds || x != x;
      }
      const uint32_t next = n.next + (holds ? 0 : 1);
      moved |= next ^ at[i];
      at[i] = next;
    }
    if (moved == 0) return;
  }
}

void FastForest::walk_all(int steps, const double* const (&rows)[lanes], uint32_t (&at)[lanes]) const {
  switch (kind_) {
    case Kind::at_most:
      return walk<Kind::at_most>(steps, rows, at);
    case Kind::less:
      return walk<Kind::less>(steps, rows, at);
    case Kind::various:
      return walk<Kind::various>(steps, rows, at);
  }
}

void FastForest::leaves_of_row(size_t first, int n, const double* row, uint32_t* leaves) const {
  const double* rows[lanes];
  uint32_t at[lanes];
  int steps = 0;
  for (int i = 0; i < lanes; ++i) {
    const size_t tree = first + static_cast<size_t>(std::min(i, n - 1));
    rows[i] = row;
    at[i] = roots_[tree];
    steps = std::max(steps, depth_[tree]);
  }
  walk_all(steps, rows, at);
  std::copy_n(at, n, leaves);
}

void FastForest::leaves_of_tree(size_t tree, const double* rows, int64_t stride,
                                uint32_t (&leaves)[lanes]) const {
  const double* row[lanes];
  for (int i = 0; i < lanes; ++i) {
    row[i] = rows + i * stride;
    leaves[i] = roots_[tree];
  }
  walk_all(depth_[tree], row, leaves);
}

}  // namespace lathe
