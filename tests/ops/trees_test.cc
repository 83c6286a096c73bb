// Fast evaluation of trees gives the bits of the reference, for any trees and any number of threads; other
// trees are left to the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lathe/lathe.h"
#include "support/case_model.h"
#include "support/error_code.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Random {
  std::mt19937 engine;
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine); }
  float number() {
    constexpr float odd[] = {NAN, infinity, -infinity, 0.0F, -0.0F, 0.5F, 1.0F};
    return below(4) == 0 ? odd[below(7)] : std::uniform_real_distribution<float>(-1, 1)(engine);
  }
};

/// Nodes of some trees by number, and the leaves among them.
struct Trees {
  std::vector<int64_t> tree, node, feature, then, otherwise, missing;
  std::vector<float> split;
  std::vector<std::string> mode;
  std::vector<int64_t> leaf_tree, leaf_node;

  /// `modes`: those that branches choose from.
  void grow(Random& r, int64_t id, int64_t branches, int64_t features, const std::vector<std::string>& modes,
            bool tracks, bool one_vote) {
    std::vector<size_t> open;
    int64_t next = 0;
    const auto add = [&] {
      open.push_back(tree.size());
      tree.push_back(id);
      node.push_back(next++);
      feature.push_back(0);
      then.push_back(0);
      otherwise.push_back(0);
      missing.push_back(0);
      split.push_back(0);
      mode.push_back("LEAF");
      return node.back();
    };
    add();
    for (int64_t b = 0; b < branches; ++b) {
      const auto which = static_cast<size_t>(r.below(static_cast<int64_t>(open.size())));
      const size_t at = open[which];
      open.erase(open.begin() + static_cast<ptrdiff_t>(which));
      const int64_t first = add(), second = add();
      mode[at] = modes[static_cast<size_t>(r.below(static_cast<int64_t>(modes.size())))];
      feature[at] = r.below(features);
      split[at] = r.number();
      missing[at] = tracks ? r.below(2) : 0;
      then[at] = first;
      otherwise[at] = second;
    }
    for (size_t at : open)
      for (int64_t votes = one_vote ? 0 : r.below(3); votes >= 0; --votes) {
        leaf_tree.push_back(id);
        leaf_node.push_back(node[at]);
      }
  }
};

OpCase numbered(std::string op, const Trees& t, const Tensor& rows) {
  OpCase c;
  c.domain = "ai.onnx.ml";
  c.op = std::move(op);
  c.input(Value(rows));
  c.attribute("nodes_treeids", t.tree).attribute("nodes_nodeids", t.node);
  c.attribute("nodes_featureids", t.feature).attribute("nodes_values", t.split);
  c.attribute("nodes_modes", t.mode).attribute("nodes_truenodeids", t.then);
  c.attribute("nodes_falsenodeids", t.otherwise).attribute("nodes_missing_value_tracks_true", t.missing);
  return c;
}

Tensor rows_of(Random& r, int64_t rows, int64_t features, DataType type) {
  Tensor x(type, {rows, features});
  for (int64_t i = 0; i < x.size(); ++i)
    if (type == DataType::int64)
      x.as<int64_t>()[static_cast<size_t>(i)] = r.below(5) - 2;
    else
      store_double(x, i, r.number());
  return x;
}

/// The same bits as the reference, on one thread and on three; by which kernel.
std::string checked(const OpCase& c, const std::string& what) {
  onnx::Model m;
  m.proto = model_of(c);
  const auto run = [&](BuildOptions o) { return Engine::build(m, o).create_context().run(inputs_of(c)); };
  const std::vector<Value> want = run({.backend = "reference"});
  for (int threads : {1, 3}) {
    BuildOptions o;
    o.threads = threads;
    const std::vector<Value> got = run(o);
    for (size_t i = 0; i < want.size(); ++i) {
      const Comparison same = compare(got[i], want[i], 0, 0);
      EXPECT_TRUE(same.equal) << what << " " << threads << ": " << same.reason;
    }
  }
  return Engine::build(m).steps()[0].kernel;
}

TEST(Trees, GiveTheBitsOfTheReference) {
  const std::vector<std::vector<std::string>> modes = {
      {"BRANCH_LEQ"},
      {"BRANCH_LT"},
      {"BRANCH_GTE"},
      {"BRANCH_GT"},
      {"BRANCH_EQ", "BRANCH_NEQ"},
      {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}};
  Random r;
  int round = 0;
  for (const auto& some : modes)
    for (const bool tracks : {false, true})
      for (const int64_t rows : {0, 1, 7, 8, 70, 203}) {
        const bool one_vote = round % 2 == 1;
        const int64_t features = 1 + r.below(6), count = r.below(30), targets = one_vote ? 1 : 1 + r.below(4);
        Trees t;
        for (int64_t id = 0; id < count; ++id)
          t.grow(r, 3 * id, r.below(40), features, some, tracks, one_vote);
        const DataType type = std::array{DataType::float32, DataType::float64,
                                         DataType::int64}[static_cast<size_t>(r.below(3))];
        const Tensor x = rows_of(r, rows, features, type);
        const std::string what = some[0] + " " + std::to_string(rows) + " round " + std::to_string(round++);

        const size_t votes = t.leaf_tree.size();
        std::vector<int64_t> ids(votes);
        std::vector<float> weights(votes);
        for (size_t i = 0; i < votes; ++i) ids[i] = r.below(targets), weights[i] = r.number() * 3;
        for (float& w : weights)
          if (!std::isfinite(w)) w = 0.25F;
        constexpr const char* hows[] = {"SUM", "AVERAGE", "MIN", "MAX"};
        OpCase regressor = numbered("TreeEnsembleRegressor", t, x);
        regressor.attribute("target_treeids", t.leaf_tree).attribute("target_nodeids", t.leaf_node);
        regressor.attribute("target_ids", ids).attribute("target_weights", weights);
        regressor.attribute("n_targets", targets)
            .attribute("aggregate_function", std::string(hows[round % 4]));
        if (round % 3 == 0) regressor.attribute("base_values", std::vector<float>{0.5F});
        EXPECT_EQ(checked(regressor, "regressor " + what), "tree_ensemble_regressor.generic");

        OpCase classifier = numbered("TreeEnsembleClassifier", t, x);
        const bool two = round % 2 == 0;
        if (two) std::fill(ids.begin(), ids.end(), 1);
        classifier.attribute("class_treeids", t.leaf_tree).attribute("class_nodeids", t.leaf_node);
        classifier.attribute("class_ids", ids).attribute("class_weights", weights);
        constexpr const char* after[] = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"};
        classifier.attribute("post_transform", std::string(after[round % 4]));
        if (round % 5 < 3) {
          std::vector<int64_t> labels{7, 3};
          for (int64_t k = 2; k < std::max<int64_t>(2, two ? 2 : targets); ++k) labels.push_back(10 * k);
          classifier.attribute("classlabels_int64s", labels);
        } else {
          std::vector<std::string> labels{"no", "yes"};
          for (int64_t k = 2; k < std::max<int64_t>(2, two ? 2 : targets); ++k)
            labels.push_back("w" + std::to_string(k));
          classifier.attribute("classlabels_strings", labels);
        }
        classifier.outputs_wanted(2);
        EXPECT_EQ(checked(classifier, "classifier " + what), "tree_ensemble_classifier.generic");
      }
}

TEST(Trees, WhatIsNoTreeIsLeftToTheReference) {
  Random r;
  Trees t;
  t.grow(r, 0, 1, 2, {"BRANCH_LEQ"}, false, true);
  const Tensor x = rows_of(r, 3, 2, DataType::float32);
  const auto regressor = [&](const Trees& trees) {
    OpCase c = numbered("TreeEnsembleRegressor", trees, x);
    const std::vector<int64_t> ids(trees.leaf_tree.size());
    c.attribute("target_treeids", trees.leaf_tree).attribute("target_nodeids", trees.leaf_node);
    c.attribute("target_ids", ids).attribute("target_weights", std::vector<float>(ids.size(), 1.5F));
    return c.attribute("n_targets", int64_t{1});
  };
  Trees shared = t;
  shared.then[0] = shared.otherwise[0] = 1;
  EXPECT_EQ(checked(regressor(shared), "shared"), "TreeEnsembleRegressor.ref");
  const auto fails = [&](const OpCase& c) {
    onnx::Model m;
    m.proto = model_of(c);
    return code_of([&] { Engine::build(m).create_context().run(inputs_of(c)); });
  };
  Trees circle = t;
  circle.then[0] = circle.otherwise[0] = 0;
  EXPECT_EQ(fails(regressor(circle)), Code::node_bad_attribute);
  Trees nowhere = t;
  nowhere.then[0] = 17;
  EXPECT_EQ(fails(regressor(nowhere)), Code::node_bad_attribute);
  Trees beyond = t;
  beyond.feature[0] = 2;
  EXPECT_EQ(fails(regressor(beyond)), Code::node_bad_attribute);
  beyond.feature[0] = -1;
  EXPECT_EQ(fails(regressor(beyond)), Code::node_bad_attribute);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
