// Trees of all three operators after they are read: nodes by index, leaves with their votes.
#pragma once

#include <algorithm>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "ops/poller.h"

namespace lathe {

enum class BranchMode : uint8_t { less_equal, less, greater_equal, greater, equal, differ, member, leaf };
enum class Aggregate : uint8_t { average, sum, least, greatest };

struct Forest {
  struct Branch {
    BranchMode mode = BranchMode::leaf;
    bool missing_is_true = false;  // whether NaN goes to `then`
    int64_t feature = 0;
    double split = 0;
    size_t first_member = 0, end_member = 0;  // of a set, in `members`
    size_t then = 0, otherwise = 0;           // indices of branches
    size_t first_leaf = 0, end_leaf = 0;      // of a leaf, in `votes`
  };
  struct Vote {
    size_t target;
    double weight;
  };
  explicit Forest(std::pmr::memory_resource* memory)
      : branches(memory), votes(memory), members(memory), roots(memory) {}
  int64_t features = 0;  // that rows must have: one more than the last that is read
  std::pmr::vector<Branch> branches;
  std::pmr::vector<Vote> votes;
  std::pmr::vector<double> members;
  std::pmr::vector<size_t> roots;

  /// The leaf that features lead to from a root; null if the branches form a circle.
  template <class Features>
  const Branch* leaf(size_t root, Features&& features, Poller& poll) const {
    size_t at = root;
    for (size_t steps = 0; steps <= branches.size(); ++steps) {
      const Branch& b = branches[at];
      if (b.mode == BranchMode::leaf) return &b;
      poll.did(4);
      at = holds(b, features(b.feature)) ? b.then : b.otherwise;
    }
    return nullptr;
  }

 private:
  bool holds(const Branch& b, double x) const {
    if (x != x) return b.missing_is_true;
    switch (b.mode) {
      case BranchMode::less_equal:
        return x <= b.split;
      case BranchMode::less:
        return x < b.split;
      case BranchMode::greater_equal:
        return x >= b.split;
      case BranchMode::greater:
        return x > b.split;
      case BranchMode::equal:
        return x == b.split;
      case BranchMode::differ:
        return x != b.split;
      default:
        for (size_t i = b.first_member; i < b.end_member; ++i)
          if (members[i] == x) return true;
        return false;
    }
  }
};

/// The sums of the votes of one row, for each target. For least and greatest `voted` tells whether there is a
/// vote already; the others do not need it.
class Votes {
 public:
  Votes(Aggregate how, std::span<double> sums, std::span<char> voted)
      : how_(how), sums_(sums), voted_(voted) {}
  static bool notes_voted(Aggregate how) { return how == Aggregate::least || how == Aggregate::greatest; }
  void clear() {
    std::ranges::fill(sums_, 0.0);
    std::ranges::fill(voted_, char{0});
  }
  void add(size_t target, double weight) {
    double& sum = sums_[target];
    if (!notes_voted(how_)) {
      sum += weight;
      return;
    }
    if (!voted_[target])
      sum += weight;
    else
      sum = how_ == Aggregate::least ? std::min(sum, weight) : std::max(sum, weight);
    voted_[target] = 1;
  }
  void finish(size_t trees) {
    if (how_ == Aggregate::average && trees > 0)
      for (double& v : sums_) v /= static_cast<double>(trees);
  }
  std::span<double> scores() { return sums_; }

 private:
  Aggregate how_;
  std::span<double> sums_;
  std::span<char> voted_;
};

}  // namespace lathe
