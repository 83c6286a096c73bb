#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_trees(CaseTable& t) {
  t.add("TreeEnsembleRegressor", "one tree and a base", "ai.onnx.ml")
      .input<float>({4, 2}, {-1, 0, -1, 1, 1, 0, NAN, 0})
      .attribute("nodes_treeids", std::vector<int64_t>{0, 0, 0, 0, 0})
      .attribute("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 3, 4})
      .attribute("nodes_featureids", std::vector<int64_t>{0, 1, 0, 0, 0})
      .attribute("nodes_values", std::vector<float>{0, 1, 0, 0, 0})
      .attribute("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"})
      .attribute("nodes_truenodeids", std::vector<int64_t>{1, 3, 0, 0, 0})
      .attribute("nodes_falsenodeids", std::vector<int64_t>{2, 4, 0, 0, 0})
      .attribute("target_treeids", std::vector<int64_t>{0, 0, 0})
      .attribute("target_nodeids", std::vector<int64_t>{2, 3, 4})
      .attribute("target_ids", std::vector<int64_t>{0, 0, 0})
      .attribute("target_weights", std::vector<float>{30, 10, 20})
      .attribute("n_targets", int64_t{1})
      .attribute("base_values", std::vector<float>{0.5f})
      .expect<float>({4, 1}, {10.5f, 20.5f, 30.5f, 30.5f});
  t.add("TreeEnsembleRegressor", "NaN goes the true way", "ai.onnx.ml")
      .input<float>({4, 2}, {-1, 0, -1, 1, 1, 0, NAN, 0})
      .attribute("nodes_treeids", std::vector<int64_t>{0, 0, 0, 0, 0})
      .attribute("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 3, 4})
      .attribute("nodes_featureids", std::vector<int64_t>{0, 1, 0, 0, 0})
      .attribute("nodes_values", std::vector<float>{0, 1, 0, 0, 0})
      .attribute("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"})
      .attribute("nodes_truenodeids", std::vector<int64_t>{1, 3, 0, 0, 0})
      .attribute("nodes_falsenodeids", std::vector<int64_t>{2, 4, 0, 0, 0})
      .attribute("nodes_missing_value_tracks_true", std::vector<int64_t>{1, 0, 0, 0, 0})
      .attribute("target_treeids", std::vector<int64_t>{0, 0, 0})
      .attribute("target_nodeids", std::vector<int64_t>{2, 3, 4})
      .attribute("target_ids", std::vector<int64_t>{0, 0, 0})
      .attribute("target_weights", std::vector<float>{30, 10, 20})
      .attribute("n_targets", int64_t{1})
      .expect<float>({4, 1}, {10, 20, 30, 10});
  t.add("TreeEnsembleClassifier", "three classes", "ai.onnx.ml")
      .input<float>({4, 2}, {-1, 0, -1, 1, 1, 0, NAN, 0})
      .attribute("nodes_treeids", std::vector<int64_t>{0, 0, 0, 0, 0})
      .attribute("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 3, 4})
      .attribute("nodes_featureids", std::vector<int64_t>{0, 1, 0, 0, 0})
      .attribute("nodes_values", std::vector<float>{0, 1, 0, 0, 0})
      .attribute("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"})
      .attribute("nodes_truenodeids", std::vector<int64_t>{1, 3, 0, 0, 0})
      .attribute("nodes_falsenodeids", std::vector<int64_t>{2, 4, 0, 0, 0})
      .attribute("class_treeids", std::vector<int64_t>{0, 0, 0, 0})
      .attribute("class_nodeids", std::vector<int64_t>{2, 3, 4, 4})
      .attribute("class_ids", std::vector<int64_t>{2, 0, 1, 0})
      .attribute("class_weights", std::vector<float>{1, 1, 0.75f, 0.25f})
      .attribute("classlabels_strings", std::vector<std::string>{"a", "b", "c"})
      .expect<std::string>({4}, {"a", "b", "c", "c"})
      .expect<float>({4, 3}, {1, 0, 0, 0.25f, 0.75f, 0, 0, 0, 1, 0, 0, 1});
  t.add("TreeEnsembleClassifier", "one score for two classes", "ai.onnx.ml")
      .input<float>({4, 2}, {-1, 0, -1, 1, 1, 0, NAN, 0})
      .attribute("nodes_treeids", std::vector<int64_t>{0, 0, 0, 0, 0})
      .attribute("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 3, 4})
      .attribute("nodes_featureids", std::vector<int64_t>{0, 1, 0, 0, 0})
      .attribute("nodes_values", std::vector<float>{0, 1, 0, 0, 0})
      .attribute("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"})
      .attribute("nodes_truenodeids", std::vector<int64_t>{1, 3, 0, 0, 0})
      .attribute("nodes_falsenodeids", std::vector<int64_t>{2, 4, 0, 0, 0})
      .attribute("class_treeids", std::vector<int64_t>{0, 0, 0})
      .attribute("class_nodeids", std::vector<int64_t>{2, 3, 4})
      .attribute("class_ids", std::vector<int64_t>{0, 0, 0})
      .attribute("class_weights", std::vector<float>{2, -1, 0.5f})
      .attribute("classlabels_int64s", std::vector<int64_t>{0, 1})
      .attribute("post_transform", std::string("LOGISTIC"))
      .expect<int64_t>({4}, {0, 1, 1, 1})
      .expect<float>({4, 2}, {0.7310586f, 0.26894143f, 0.37754068f, 0.62245935f, 0.11920292f, 0.8807971f,
                              0.11920292f, 0.8807971f});
}

}  // namespace lathe
