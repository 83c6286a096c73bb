// TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor: [N, F] features → sums over the leaves that a
// row reaches.
#pragma once

#include <optional>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Nodes and leaves in lists of their own; children are indices in them.
struct TreeEnsemble {
  int64_t aggregate_function = 1;  // average, sum, least, greatest
  int64_t post_transform = 0;      // none, softmax, logistic, softmax_zero, probit
  int64_t n_targets = 1;
  std::vector<int64_t> tree_roots, nodes_featureids, nodes_truenodeids, nodes_falsenodeids, nodes_trueleafs,
      nodes_falseleafs, nodes_missing_value_tracks_true, leaf_targetids;
  std::optional<Tensor> nodes_modes, nodes_splits, leaf_weights, membership_values;
  void fields(auto&& f) {
    f("aggregate_function", aggregate_function);
    f("post_transform", post_transform);
    f("n_targets", n_targets);
    f("tree_roots", tree_roots);
    f("nodes_featureids", nodes_featureids);
    f("nodes_truenodeids", nodes_truenodeids);
    f("nodes_falsenodeids", nodes_falsenodeids);
    f("nodes_trueleafs", nodes_trueleafs);
    f("nodes_falseleafs", nodes_falseleafs);
    f("nodes_missing_value_tracks_true", nodes_missing_value_tracks_true);
    f("leaf_targetids", leaf_targetids);
    f("nodes_modes", nodes_modes);
    f("nodes_splits", nodes_splits);
    f("leaf_weights", leaf_weights);
    f("membership_values", membership_values);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto bad = [&](const char* expected, int64_t got) {
      c.fail(Code::node_bad_attribute, expected, std::to_string(got), {});
    };
    if (n_targets < 1) bad("n_targets from 1", n_targets);
    if (aggregate_function < 0 || aggregate_function > 3)
      bad("aggregate_function 0 to 3", aggregate_function);
    if (post_transform < 0 || post_transform > 4) bad("post_transform 0 to 4", post_transform);
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, features]", c.text(c.shape(0)));
    c.output(0, {c.rank(0) == 1 ? D(1) : c.shape(0)[0], D(n_targets)});
  }
};

/// The attributes of the older two operators: nodes have the numbers of tree and node, leaves among them.
struct NumberedTrees {
  std::vector<int64_t> nodes_treeids, nodes_nodeids, nodes_featureids, nodes_truenodeids, nodes_falsenodeids,
      nodes_missing_value_tracks_true;
  std::vector<std::string> nodes_modes;
  std::vector<float> nodes_values, base_values;
  std::optional<Tensor> nodes_values_as_tensor, base_values_as_tensor;  // in double
  std::string post_transform = "NONE";
  void fields(auto&& f) {
    f("nodes_treeids", nodes_treeids);
    f("nodes_nodeids", nodes_nodeids);
    f("nodes_featureids", nodes_featureids);
    f("nodes_truenodeids", nodes_truenodeids);
    f("nodes_falsenodeids", nodes_falsenodeids);
    f("nodes_missing_value_tracks_true", nodes_missing_value_tracks_true);
    f("nodes_modes", nodes_modes);
    f("nodes_values", nodes_values);
    f("nodes_values_as_tensor", nodes_values_as_tensor);
    f("base_values", base_values);
    f("base_values_as_tensor", base_values_as_tensor);
    f("post_transform", post_transform);
  }
};

struct TreeEnsembleRegressor : NumberedTrees {
  std::string aggregate_function = "SUM";
  int64_t n_targets = 1;
  std::vector<int64_t> target_treeids, target_nodeids, target_ids;
  std::vector<float> target_weights;
  std::optional<Tensor> target_weights_as_tensor;
  void fields(auto&& f) {
    NumberedTrees::fields(f);
    f("aggregate_function", aggregate_function);
    f("n_targets", n_targets);
    f("target_treeids", target_treeids);
    f("target_nodeids", target_nodeids);
    f("target_ids", target_ids);
    f("target_weights", target_weights);
    f("target_weights_as_tensor", target_weights_as_tensor);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (n_targets < 1) c.fail(Code::node_bad_attribute, "n_targets from 1", std::to_string(n_targets), {});
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, features]", c.text(c.shape(0)));
    c.output(0, {c.rank(0) == 1 ? D(1) : c.shape(0)[0], D(n_targets)});
  }
};

struct TreeEnsembleClassifier : NumberedTrees {
  std::vector<int64_t> classlabels_int64s;
  std::vector<std::string> classlabels_strings;
  std::vector<int64_t> class_treeids, class_nodeids, class_ids;
  std::vector<float> class_weights;
  std::optional<Tensor> class_weights_as_tensor;
  void fields(auto&& f) {
    NumberedTrees::fields(f);
    f("classlabels_int64s", classlabels_int64s);
    f("classlabels_strings", classlabels_strings);
    f("class_treeids", class_treeids);
    f("class_nodeids", class_nodeids);
    f("class_ids", class_ids);
    f("class_weights", class_weights);
    f("class_weights_as_tensor", class_weights_as_tensor);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (classlabels_int64s.empty() == classlabels_strings.empty())
      c.fail(Code::node_bad_attribute, "classlabels_int64s or classlabels_strings", "both or none", {});
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, features]", c.text(c.shape(0)));
    const D rows = c.rank(0) == 1 ? D(1) : c.shape(0)[0];
    c.output(0, {rows});
    c.output(
        1, {rows, D(static_cast<int64_t>(std::max(classlabels_int64s.size(), classlabels_strings.size())))});
  }
};

}  // namespace lathe
