// Trees in a form that is walked fast: a branch only tests whether a number is less than another one, or at
// most that; its children are neighbors; and several independent walks run at a time.
//
// For the other comparisons the children change places. A leaf leads to itself. So a walk has the same few
// instructions for every node, however deep its tree is, and all walks of a group take as many steps as the
// longest.
#pragma once

#include <string>

#include "ops/trees/forest.h"

namespace lathe {

class FastForest {
 public:
  /// Refuses trees with branches by sets, shared branches or circles; `refusal` then says why.
  explicit FastForest(const Forest& forest);
  const std::string& refusal() const { return refusal_; }
  size_t trees() const { return roots_.size(); }

  /// The number of walks side by side.
  static constexpr int lanes = 8;
  /// Finds the leaves that one row leads to in trees [first, first + n), n of at most `lanes`.
  void leaves_of_row(size_t first, int n, const double* row, uint32_t* leaves) const;
  /// Finds the leaves that `lanes` rows, which are `stride` numbers apart, lead to in one tree.
  void leaves_of_tree(size_t tree, const double* rows, int64_t stride, uint32_t (&leaves)[lanes]) const;

  struct VoteRange {
    uint32_t first = 0, end = 0;
  };
  VoteRange votes(uint32_t leaf) const { return votes_[leaf]; }
  /// Returns whether every leaf has one vote, for the first target. Then value() is its weight.
  bool is_single() const { return !values_.empty(); }
  double value(uint32_t leaf) const { return values_[leaf]; }

 private:
  enum Flag : uint32_t { missing_is_true = 1, equals = 2, strict = 4 };
  static constexpr uint32_t flags = 8;
  struct Node {
    double split;      // NaN: of a leaf, or of a comparison with NaN
    uint32_t feature;  // `flags` times its number, and the flags
    uint32_t next;     // the node if the comparison holds; else the one behind it
  };
  /// The comparison that all branches share.
  enum class Kind : uint8_t { at_most, less, various };
  template <Kind kind>
  void walk(int steps, const double* const (&rows)[lanes], uint32_t (&at)[lanes]) const;
  void walk_all(int steps, const double* const (&rows)[lanes], uint32_t (&at)[lanes]) const;
  uint32_t add(const Forest& forest, size_t root, std::vector<char>& seen);
  /// Adds two neighboring nodes.
  uint32_t add_two();

  std::string refusal_;
  Kind kind_ = Kind::various;
  std::vector<Node> nodes_;
  std::vector<VoteRange> votes_;  // by node
  std::vector<double> values_;    // the same, or empty
  std::vector<uint32_t> roots_;
  std::vector<int> depth_;  // of each tree
};

}  // namespace lathe
