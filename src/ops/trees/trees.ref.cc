#include "ops/trees/trees.h"

#include <algorithm>

#include "ops/compute.h"
#include "ops/linear_model/class_scores.h"
#include "ops/trees/forest.h"

namespace lathe {
namespace {

/// Nodes and leaves by their places (version 5).
Forest forest_of(const TreeEnsemble& op, int64_t features, KernelContext& c) {
  const size_t nodes = op.nodes_featureids.size(), leaves = op.leaf_targetids.size();
  const auto as_many = [&](size_t got, size_t expected, const char* what) {
    if (got != expected) bad_attribute(c, std::to_string(expected) + " " + what, std::to_string(got));
  };
  if (!op.nodes_modes || !op.nodes_splits || !op.leaf_weights)
    bad_attribute(c, "nodes_modes, nodes_splits and leaf_weights", "fewer");
  as_many(static_cast<size_t>(op.nodes_modes->size()), nodes, "nodes_modes");
  as_many(static_cast<size_t>(op.nodes_splits->size()), nodes, "nodes_splits");
  as_many(static_cast<size_t>(op.leaf_weights->size()), leaves, "leaf_weights");
  for (const auto* list :
       {&op.nodes_truenodeids, &op.nodes_falsenodeids, &op.nodes_trueleafs, &op.nodes_falseleafs})
    as_many(list->size(), nodes, "children");
  if (!op.nodes_missing_value_tracks_true.empty())
    as_many(op.nodes_missing_value_tracks_true.size(), nodes, "nodes_missing_value_tracks_true");
  Forest f(c.scratch());
  f.branches.resize(nodes + leaves);
  f.votes.reserve(leaves);
  Poller poll(c);
  /// A child, checked: leaves lie behind the nodes.
  const auto child = [&](int64_t place, bool is_leaf) {
    if (place < 0 || static_cast<size_t>(place) >= (is_leaf ? leaves : nodes))
      bad_attribute(c, "children that exist", std::to_string(place));
    return static_cast<size_t>(place) + (is_leaf ? nodes : 0);
  };
  int64_t next_member = 0;
  for (size_t i = 0; i < nodes; ++i) {
    poll.did(32);
    Forest::Branch& b = f.branches[i];
    const int64_t mode = load_int(*op.nodes_modes, static_cast<int64_t>(i));
    if (mode < 0 || mode > 6) bad_attribute(c, "nodes_modes 0 to 6", std::to_string(mode));
    b.mode = static_cast<BranchMode>(mode);
    b.feature = op.nodes_featureids[i];
    if (b.feature < 0 || b.feature >= features)
      bad_attribute(c, "nodes_featureids from 0 to " + std::to_string(features - 1),
                    std::to_string(b.feature));
    b.split = load_double(*op.nodes_splits, static_cast<int64_t>(i));
    b.missing_is_true =
        !op.nodes_missing_value_tracks_true.empty() && op.nodes_missing_value_tracks_true[i] != 0;
    b.then = child(op.nodes_truenodeids[i], op.nodes_trueleafs[i] != 0);
    b.otherwise = child(op.nodes_falsenodeids[i], op.nodes_falseleafs[i] != 0);
    if (b.mode != BranchMode::member) continue;
    // Sets lie one after the other, NaN at the end of each.
    b.first_member = f.members.size();
    for (double v = 0;; f.members.push_back(v), poll.did(4)) {
      if (!op.membership_values || next_member >= op.membership_values->size())
        bad_attribute(c, "membership_values for every node that asks for them, NaN behind each set", "fewer");
      v = load_double(*op.membership_values, next_member++);
      if (std::isnan(v)) break;
    }
    b.end_member = f.members.size();
  }
  for (size_t i = 0; i < leaves; ++i, poll.did(16)) {
    const int64_t target = op.leaf_targetids[i];
    if (target < 0 || target >= op.n_targets)
      bad_attribute(c, "leaf_targetids from 0 to " + std::to_string(op.n_targets - 1),
                    std::to_string(target));
    f.branches[nodes + i].first_leaf = i;
    f.branches[nodes + i].end_leaf = i + 1;
    f.votes.push_back({static_cast<size_t>(target), load_double(*op.leaf_weights, static_cast<int64_t>(i))});
  }
  for (int64_t root : op.tree_roots) f.roots.push_back(child(root, false));
  return f;
}

/// The votes of the older two: whose, for what, how much.
struct NumberedVotes {
  const std::vector<int64_t>&trees, &nodes, &targets;
  const std::vector<float>& weights;
  const std::optional<Tensor>& wide_weights;
  double weight(size_t i) const {
    return wide_weights ? load_double(*wide_weights, static_cast<int64_t>(i))
                        : static_cast<double>(weights[i]);
  }
  size_t count() const { return wide_weights ? static_cast<size_t>(wide_weights->size()) : weights.size(); }
};

BranchMode mode_named(const std::string& name, KernelContext& c) {
  constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name && name != "BRANCH_MEMBER") return static_cast<BranchMode>(i);
  bad_attribute(c, "nodes_modes BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF",
                name);
}

/// Nodes by tree and number, the root of each tree first.
Forest forest_of(const NumberedTrees& op, const NumberedVotes& votes, int64_t targets, int64_t features,
                 KernelContext& c) {
  const size_t nodes = op.nodes_treeids.size();
  const size_t values = op.nodes_values_as_tensor ? static_cast<size_t>(op.nodes_values_as_tensor->size())
                                                  : op.nodes_values.size();
  for (size_t got : {op.nodes_nodeids.size(), op.nodes_featureids.size(), op.nodes_truenodeids.size(),
                     op.nodes_falsenodeids.size(), op.nodes_modes.size(), values})
    if (got != nodes) bad_attribute(c, "lists of " + std::to_string(nodes) + " nodes", std::to_string(got));
  const bool tracks = !op.nodes_missing_value_tracks_true.empty();
  if (tracks && op.nodes_missing_value_tracks_true.size() != nodes)
    bad_attribute(c, std::to_string(nodes) + " nodes_missing_value_tracks_true",
                  std::to_string(op.nodes_missing_value_tracks_true.size()));
  for (size_t got : {votes.trees.size(), votes.nodes.size(), votes.targets.size()})
    if (got != votes.count())
      bad_attribute(c, "lists of " + std::to_string(votes.count()) + " votes", std::to_string(got));

  struct Place {
    int64_t tree, node;
    size_t at;
    auto key() const { return std::pair(tree, node); }
  };
  std::pmr::vector<Place> places(c.scratch()), voters(c.scratch());
  Poller poll(c);
  for (size_t i = 0; i < nodes; ++i, poll.did(64))
    places.push_back({op.nodes_treeids[i], op.nodes_nodeids[i], i});
  for (size_t i = 0; i < votes.count(); ++i, poll.did(64))
    voters.push_back({votes.trees[i], votes.nodes[i], i});
  const auto before = [](const Place& a, const Place& b) {
    return std::tuple(a.tree, a.node, a.at) < std::tuple(b.tree, b.node, b.at);
  };
  std::sort(places.begin(), places.end(), before);
  std::sort(voters.begin(), voters.end(), before);
  const auto find = [&](int64_t tree, int64_t node) {
    const auto at = std::lower_bound(places.begin(), places.end(), Place{tree, node, 0}, before);
    if (at == places.end() || at->key() != std::pair(tree, node))
      bad_attribute(c, "children that exist",
                    "node " + std::to_string(node) + " of tree " + std::to_string(tree));
    return at->at;
  };

  Forest f(c.scratch());
  f.branches.resize(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    poll.did(128);
    Forest::Branch& b = f.branches[i];
    b.mode = mode_named(op.nodes_modes[i], c);
    if (i == 0 || op.nodes_treeids[i] != op.nodes_treeids[i - 1]) f.roots.push_back(i);
    if (b.mode == BranchMode::leaf) {
      b.first_leaf = f.votes.size();
      const Place from{op.nodes_treeids[i], op.nodes_nodeids[i], 0};
      for (auto at = std::lower_bound(voters.begin(), voters.end(), from, before);
           at != voters.end() && at->key() == from.key(); ++at) {
        const int64_t target = votes.targets[at->at];
        if (target < 0 || target >= targets)
          bad_attribute(c, "votes for 0 to " + std::to_string(targets - 1), std::to_string(target));
        f.votes.push_back({static_cast<size_t>(target), votes.weight(at->at)});
        poll.did(16);
      }
      b.end_leaf = f.votes.size();
      continue;
    }
    b.feature = op.nodes_featureids[i];
    if (b.feature < 0 || b.feature >= features)
      bad_attribute(c, "nodes_featureids from 0 to " + std::to_string(features - 1),
                    std::to_string(b.feature));
    b.split = op.nodes_values_as_tensor ? load_double(*op.nodes_values_as_tensor, static_cast<int64_t>(i))
                                        : static_cast<double>(op.nodes_values[i]);
    b.missing_is_true = tracks && op.nodes_missing_value_tracks_true[i] != 0;
    b.then = find(op.nodes_treeids[i], op.nodes_truenodeids[i]);
    b.otherwise = find(op.nodes_treeids[i], op.nodes_falsenodeids[i]);
  }
  return f;
}

/// Calls `done(row, votes)` with what the trees say of each row.
template <class F>
void each_row(KernelContext& c, const Forest& forest, size_t targets, Aggregate how, F&& done) {
  const Tensor& x = c.in(0);
  const int64_t features = x.dim(x.rank() - 1), rows = x.rank() == 1 ? 1 : x.dim(0);
  if (rows == 0) return;
  // More targets than fit memory are refused here, by a file's attribute.
  checked_count(Shape{rows, static_cast<int64_t>(targets)}, DataType::float64, "scores");
  Votes votes(targets, how, c.scratch());
  Poller poll(c);
  for (int64_t row = 0; row < rows; ++row) {
    votes.clear();
    for (size_t root : forest.roots) {
      const Forest::Branch* leaf = forest.leaf(
          root, [&](int64_t feature) { return load_double(x, row * features + feature); }, poll);
      if (!leaf) bad_attribute(c, "branches that end in leaves", "a circle");
      for (size_t i = leaf->first_leaf; i < leaf->end_leaf; ++i)
        votes.add(forest.votes[i].target, forest.votes[i].weight);
      poll.did(8);
    }
    votes.finish(forest.roots.size());
    done(row, votes);
    poll.did(static_cast<int64_t>(4 * targets));
  }
}

void ensemble(const TreeEnsemble& op, KernelContext& c) {
  const Forest forest = forest_of(op, c.in(0).dim(c.in(0).rank() - 1), c);
  each_row(c, forest, static_cast<size_t>(op.n_targets), static_cast<Aggregate>(op.aggregate_function),
           [&](int64_t row, Votes& votes) {
             transform(votes.scores(), static_cast<PostTransform>(op.post_transform));
             store_row(c.out(0), row, votes.scores());
           });
}

std::pmr::vector<double> base_of(const NumberedTrees& op, KernelContext& c) {
  std::pmr::vector<double> base(op.base_values.begin(), op.base_values.end(), c.scratch());
  if (op.base_values_as_tensor)
    for (int64_t i = 0; i < op.base_values_as_tensor->size(); ++i)
      base.push_back(load_double(*op.base_values_as_tensor, i));
  return base;
}

void regress(const TreeEnsembleRegressor& op, KernelContext& c) {
  const NumberedVotes votes{op.target_treeids, op.target_nodeids, op.target_ids, op.target_weights,
                            op.target_weights_as_tensor};
  const Forest forest = forest_of(op, votes, op.n_targets, c.in(0).dim(c.in(0).rank() - 1), c);
  const std::pmr::vector<double> base = base_of(op, c);
  const auto targets = static_cast<size_t>(op.n_targets);
  if (!base.empty() && base.size() != targets && base.size() != 1)
    bad_attribute(c, std::to_string(targets) + " base_values", std::to_string(base.size()));
  constexpr std::string_view names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* how = std::find(std::begin(names), std::end(names), op.aggregate_function);
  if (how == std::end(names))
    bad_attribute(c, "aggregate_function AVERAGE, SUM, MIN or MAX", op.aggregate_function);
  const PostTransform after = transform_named(op.post_transform, c);
  each_row(c, forest, targets, static_cast<Aggregate>(how - names), [&](int64_t row, Votes& v) {
    for (size_t k = 0; k < targets && !base.empty(); ++k) v.scores()[k] += base[base.size() == 1 ? 0 : k];
    transform(v.scores(), after);
    store_row(c.out(0), row, v.scores());
  });
}

/// Two classes, and votes for one of them alone: its score says both.
void one_score_for_two(std::span<double> scores, double score, bool all_positive, PostTransform after,
                       size_t& best) {
  best = score > (all_positive ? 0.5 : 0) ? 1 : 0;
  if (after == PostTransform::probit) {
    scores[0] = scores[1] = probit(score);
    return;
  }
  scores[0] = all_positive ? 1 - score : -score;
  scores[1] = score;
  if (!all_positive && after == PostTransform::logistic) transform(scores, after);
}

void classify(const TreeEnsembleClassifier& op, KernelContext& c) {
  const ClassLabels labels{op.classlabels_int64s, op.classlabels_strings};
  const NumberedVotes votes{op.class_treeids, op.class_nodeids, op.class_ids, op.class_weights,
                            op.class_weights_as_tensor};
  const size_t classes = labels.size();
  const Forest forest =
      forest_of(op, votes, static_cast<int64_t>(classes), c.in(0).dim(c.in(0).rank() - 1), c);
  const std::pmr::vector<double> base = base_of(op, c);
  if (base.size() > classes)
    bad_attribute(c, "base_values for " + std::to_string(classes) + " classes", std::to_string(base.size()));
  const PostTransform after = transform_named(op.post_transform, c);
  bool all_positive = true, one_class = !op.class_ids.empty();
  for (size_t i = 0; i < votes.count(); ++i) {
    all_positive = all_positive && votes.weight(i) >= 0;
    one_class = one_class && op.class_ids[i] == op.class_ids[0];
  }
  each_row(c, forest, classes, Aggregate::sum, [&](int64_t row, Votes& v) {
    const std::span<double> scores = v.scores();
    size_t best = 0;
    if (classes == 2 && one_class) {
      const double score = scores[static_cast<size_t>(op.class_ids[0])] + (base.empty() ? 0 : base.back());
      one_score_for_two(scores, score, all_positive, after, best);
    } else {
      for (size_t k = 0; k < base.size(); ++k) scores[k] += base[k];
      for (size_t k = 1; k < classes; ++k)
        if (scores[k] > scores[best]) best = k;
      transform(scores, after);
    }
    if (c.wants(0)) labels.store(c.out(0), row, best);
    if (c.wants(1)) store_row(c.out(1), row, scores);
  });
}

}  // namespace

void reference_trees(KernelCatalog& k) {
  k.reference<TreeEnsemble>("TreeEnsemble", ensemble, "ai.onnx.ml");
  k.reference<TreeEnsembleRegressor>("TreeEnsembleRegressor", regress, "ai.onnx.ml");
  k.reference<TreeEnsembleClassifier>("TreeEnsembleClassifier", classify, "ai.onnx.ml");
}

}  // namespace lathe
