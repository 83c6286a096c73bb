#include "ops/trees/tree_model.h"

#include <algorithm>
#include <cmath>

#include "tensor/element.h"

namespace lathe {
namespace {

[[noreturn]] void bad(std::string expected, std::string got) {
  throw BadTrees{std::move(expected), std::move(got)};
}

void look_at(Forest& f, int64_t feature) {
  if (feature < 0) bad("nodes_featureids from 0", std::to_string(feature));
  f.features = std::max(f.features, feature + 1);
}

/// Nodes and leaves by their indices (version 5).
Forest forest_of(const TreeEnsemble& op, const TreeReading& r) {
  const size_t nodes = op.nodes_featureids.size(), leaves = op.leaf_targetids.size();
  const auto as_many = [&](size_t got, size_t expected, const char* what) {
    if (got != expected) bad(std::to_string(expected) + " " + what, std::to_string(got));
  };
  if (!op.nodes_modes || !op.nodes_splits || !op.leaf_weights)
    bad("nodes_modes, nodes_splits and leaf_weights", "fewer");
  as_many(static_cast<size_t>(op.nodes_modes->size()), nodes, "nodes_modes");
  as_many(static_cast<size_t>(op.nodes_splits->size()), nodes, "nodes_splits");
  as_many(static_cast<size_t>(op.leaf_weights->size()), leaves, "leaf_weights");
  for (const auto* list :
       {&op.nodes_truenodeids, &op.nodes_falsenodeids, &op.nodes_trueleafs, &op.nodes_falseleafs})
    as_many(list->size(), nodes, "children");
  if (!op.nodes_missing_value_tracks_true.empty())
    as_many(op.nodes_missing_value_tracks_true.size(), nodes, "nodes_missing_value_tracks_true");
  Forest f(r.memory);
  f.branches.resize(nodes + leaves);
  f.votes.reserve(leaves);
  /// A child, checked: leaves are numbered behind the nodes.
  const auto child = [&](int64_t place, bool is_leaf) {
    if (place < 0 || static_cast<size_t>(place) >= (is_leaf ? leaves : nodes))
      bad("children that exist", std::to_string(place));
    return static_cast<size_t>(place) + (is_leaf ? nodes : 0);
  };
  int64_t next_member = 0;
  for (size_t i = 0; i < nodes; ++i) {
    r.did(32);
    Forest::Branch& b = f.branches[i];
    const int64_t mode = load_int(*op.nodes_modes, static_cast<int64_t>(i));
    if (mode < 0 || mode > 6) bad("nodes_modes 0 to 6", std::to_string(mode));
    b.mode = static_cast<BranchMode>(mode);
    b.feature = op.nodes_featureids[i];
    look_at(f, b.feature);
    b.split = load_double(*op.nodes_splits, static_cast<int64_t>(i));
    b.missing_is_true =
        !op.nodes_missing_value_tracks_true.empty() && op.nodes_missing_value_tracks_true[i] != 0;
    b.then = child(op.nodes_truenodeids[i], op.nodes_trueleafs[i] != 0);
    b.otherwise = child(op.nodes_falsenodeids[i], op.nodes_falseleafs[i] != 0);
    if (b.mode != BranchMode::member) continue;
    // Sets follow each other, with a NaN at the end of each.
    b.first_member = f.members.size();
    for (double v = 0;; f.members.push_back(v), r.did(4)) {
      if (!op.membership_values || next_member >= op.membership_values->size())
        bad("membership_values for every node that asks for them, NaN behind each set", "fewer");
      v = load_double(*op.membership_values, next_member++);
      if (std::isnan(v)) break;
    }
    b.end_member = f.members.size();
  }
  for (size_t i = 0; i < leaves; ++i, r.did(16)) {
    const int64_t target = op.leaf_targetids[i];
    if (target < 0 || target >= op.n_targets)
      bad("leaf_targetids from 0 to " + std::to_string(op.n_targets - 1), std::to_string(target));
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

BranchMode mode_named(const std::string& name) {
  constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name && name != "BRANCH_MEMBER") return static_cast<BranchMode>(i);
  bad("nodes_modes BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF", name);
}

/// Nodes by tree and number, the root of each tree first.
Forest forest_of(const NumberedTrees& op, const NumberedVotes& votes, int64_t targets, const TreeReading& r) {
  const size_t nodes = op.nodes_treeids.size();
  const size_t values = op.nodes_values_as_tensor ? static_cast<size_t>(op.nodes_values_as_tensor->size())
                                                  : op.nodes_values.size();
  for (size_t got : {op.nodes_nodeids.size(), op.nodes_featureids.size(), op.nodes_truenodeids.size(),
                     op.nodes_falsenodeids.size(), op.nodes_modes.size(), values})
    if (got != nodes) bad("lists of " + std::to_string(nodes) + " nodes", std::to_string(got));
  const bool tracks = !op.nodes_missing_value_tracks_true.empty();
  if (tracks && op.nodes_missing_value_tracks_true.size() != nodes)
    bad(std::to_string(nodes) + " nodes_missing_value_tracks_true",
        std::to_string(op.nodes_missing_value_tracks_true.size()));
  for (size_t got : {votes.trees.size(), votes.nodes.size(), votes.targets.size()})
    if (got != votes.count())
      bad("lists of " + std::to_string(votes.count()) + " votes", std::to_string(got));

  struct Place {
    int64_t tree, node;
    size_t at;
    auto key() const { return std::pair(tree, node); }
  };
  std::pmr::vector<Place> places(r.memory), voters(r.memory);
  for (size_t i = 0; i < nodes; ++i, r.did(64))
    places.push_back({op.nodes_treeids[i], op.nodes_nodeids[i], i});
  for (size_t i = 0; i < votes.count(); ++i, r.did(64)) voters.push_back({votes.trees[i], votes.nodes[i], i});
  const auto before = [](const Place& a, const Place& b) {
    return std::tuple(a.tree, a.node, a.at) < std::tuple(b.tree, b.node, b.at);
  };
  std::sort(places.begin(), places.end(), before);
  std::sort(voters.begin(), voters.end(), before);
  const auto find = [&](int64_t tree, int64_t node) {
    const auto at = std::lower_bound(places.begin(), places.end(), Place{tree, node, 0}, before);
    if (at == places.end() || at->key() != std::pair(tree, node))
      bad("children that exist", "node " + std::to_string(node) + " of tree " + std::to_string(tree));
    return at->at;
  };

  Forest f(r.memory);
  f.branches.resize(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    r.did(128);
    Forest::Branch& b = f.branches[i];
    b.mode = mode_named(op.nodes_modes[i]);
    if (i == 0 || op.nodes_treeids[i] != op.nodes_treeids[i - 1]) f.roots.push_back(i);
    if (b.mode == BranchMode::leaf) {
      b.first_leaf = f.votes.size();
      const Place from{op.nodes_treeids[i], op.nodes_nodeids[i], 0};
      for (auto at = std::lower_bound(voters.begin(), voters.end(), from, before);
           at != voters.end() && at->key() == from.key(); ++at) {
        const int64_t target = votes.targets[at->at];
        if (target < 0 || target >= targets)
          bad("votes for 0 to " + std::to_string(targets - 1), std::to_string(target));
        f.votes.push_back({static_cast<size_t>(target), votes.weight(at->at)});
        r.did(16);
      }
      b.end_leaf = f.votes.size();
      continue;
    }
    b.feature = op.nodes_featureids[i];
    look_at(f, b.feature);
    b.split = op.nodes_values_as_tensor ? load_double(*op.nodes_values_as_tensor, static_cast<int64_t>(i))
                                        : static_cast<double>(op.nodes_values[i]);
    b.missing_is_true = tracks && op.nodes_missing_value_tracks_true[i] != 0;
    b.then = find(op.nodes_treeids[i], op.nodes_truenodeids[i]);
    b.otherwise = find(op.nodes_treeids[i], op.nodes_falsenodeids[i]);
  }
  return f;
}

void read_base(const NumberedTrees& op, std::pmr::vector<double>& base) {
  base.assign(op.base_values.begin(), op.base_values.end());
  if (op.base_values_as_tensor)
    for (int64_t i = 0; i < op.base_values_as_tensor->size(); ++i)
      base.push_back(load_double(*op.base_values_as_tensor, i));
}

PostTransform transform_of(const NumberedTrees& op) {
  const auto found = post_transform(op.post_transform);
  if (!found) bad("post_transform NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", op.post_transform);
  return *found;
}

/// Two scores from one, if of two classes only one has votes. Returns the better class.
size_t one_score_for_two(std::span<double> scores, double score, bool all_positive, PostTransform after) {
  const size_t best = score > (all_positive ? 0.5 : 0) ? 1 : 0;
  if (after == PostTransform::probit) {
    scores[0] = scores[1] = probit(score);
    return best;
  }
  scores[0] = all_positive ? 1 - score : -score;
  scores[1] = score;
  if (!all_positive && after == PostTransform::logistic) transform(scores, after);
  return best;
}

}  // namespace

TreeModel read_trees(const TreeEnsemble& op, const TreeReading& reading) {
  TreeModel m(forest_of(op, reading));
  m.targets = static_cast<size_t>(op.n_targets);
  m.how = static_cast<Aggregate>(op.aggregate_function);
  m.after = static_cast<PostTransform>(op.post_transform);
  return m;
}

TreeModel read_trees(const TreeEnsembleRegressor& op, const TreeReading& reading) {
  const NumberedVotes votes{op.target_treeids, op.target_nodeids, op.target_ids, op.target_weights,
                            op.target_weights_as_tensor};
  TreeModel m(forest_of(op, votes, op.n_targets, reading));
  m.targets = static_cast<size_t>(op.n_targets);
  read_base(op, m.base);
  if (!m.base.empty() && m.base.size() != m.targets && m.base.size() != 1)
    bad(std::to_string(m.targets) + " base_values", std::to_string(m.base.size()));
  constexpr std::string_view names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* how = std::find(std::begin(names), std::end(names), op.aggregate_function);
  if (how == std::end(names)) bad("aggregate_function AVERAGE, SUM, MIN or MAX", op.aggregate_function);
  m.how = static_cast<Aggregate>(how - names);
  m.after = transform_of(op);
  return m;
}

TreeModel read_trees(const TreeEnsembleClassifier& op, const TreeReading& reading) {
  const NumberedVotes votes{op.class_treeids, op.class_nodeids, op.class_ids, op.class_weights,
                            op.class_weights_as_tensor};
  TreeModel::Classes classes;
  classes.numbers = op.classlabels_int64s;
  classes.words = op.classlabels_strings;
  const size_t count = ClassLabels{classes.numbers, classes.words}.size();
  TreeModel m(forest_of(op, votes, static_cast<int64_t>(count), reading));
  m.targets = count;
  read_base(op, m.base);
  if (m.base.size() > count)
    bad("base_values for " + std::to_string(count) + " classes", std::to_string(m.base.size()));
  m.after = transform_of(op);
  bool one_class = count == 2 && !op.class_ids.empty();
  for (size_t i = 0; i < votes.count(); ++i) {
    classes.all_positive = classes.all_positive && votes.weight(i) >= 0;
    one_class = one_class && op.class_ids[i] == op.class_ids[0];
  }
  if (one_class) classes.only = static_cast<size_t>(op.class_ids[0]);
  m.classes = classes;
  return m;
}

void TreeModel::finish(KernelContext& c, int64_t row, std::span<double> scores) const {
  if (!classes) {
    for (size_t k = 0; k < scores.size() && !base.empty(); ++k) scores[k] += base[base.size() == 1 ? 0 : k];
    transform(scores, after);
    return store_row(c.out(0), row, scores);
  }
  size_t best = 0;
  if (classes->only) {
    const double score = scores[*classes->only] + (base.empty() ? 0 : base.back());
    best = one_score_for_two(scores, score, classes->all_positive, after);
  } else {
    for (size_t k = 0; k < base.size(); ++k) scores[k] += base[k];
    for (size_t k = 1; k < scores.size(); ++k)
      if (scores[k] > scores[best]) best = k;
    transform(scores, after);
  }
  if (c.wants(0)) ClassLabels{classes->numbers, classes->words}.store(c.out(0), row, best);
  if (c.wants(1)) store_row(c.out(1), row, scores);
}

}  // namespace lathe
