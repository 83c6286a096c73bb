// The trees and attributes of the three operators, read once.
#pragma once

#include <functional>

#include "ops/linear_model/class_scores.h"
#include "ops/trees/forest.h"
#include "ops/trees/trees.h"

namespace lathe {

/// Thrown if attributes do not fit together.
struct BadTrees {
  std::string expected, got;
};

/// The memory of lists, and the function that is called with the work done.
struct TreeReading {
  std::pmr::memory_resource* memory;
  std::function<void(int64_t)> did;
};

struct TreeModel {
  explicit TreeModel(Forest f) : forest(std::move(f)), base(forest.roots.get_allocator()) {}
  Forest forest;
  size_t targets = 1;
  Aggregate how = Aggregate::sum;
  PostTransform after = PostTransform::none;
  std::pmr::vector<double> base;  // one for all targets, or one for each of the first
  /// The classes of a classifier, whose labels its operator owns.
  struct Classes {
    std::span<const int64_t> numbers;
    std::span<const std::string> words;
    bool all_positive = true;
    std::optional<size_t> only;  // of two classes, the one that all votes are for
  };
  std::optional<Classes> classes;

  /// Adds the base values to the sums of one row, transforms and stores them.
  void finish(KernelContext& c, int64_t row, std::span<double> scores) const;
};

/// Throw BadTrees.
TreeModel read_trees(const TreeEnsemble& op, const TreeReading& reading);
TreeModel read_trees(const TreeEnsembleRegressor& op, const TreeReading& reading);
TreeModel read_trees(const TreeEnsembleClassifier& op, const TreeReading& reading);

/// Fails if rows do not have the features that the trees read.
inline void check_features(const Forest& forest, int64_t features, KernelContext& c) {
  if (forest.features > features)
    bad_attribute(c, "nodes_featureids from 0 to " + std::to_string(features - 1),
                  std::to_string(forest.features - 1));
}

}  // namespace lathe
