#include "ops/trees/trees.h"

#include "ops/linear_model/label_type.h"

namespace lathe {
namespace {

constexpr std::string_view classifier_3 =
    "(X: T1) -> (Y: T2, Z: float) {nodes_treeids: ints, nodes_nodeids: ints, nodes_featureids: ints, "
    "nodes_values: floats, nodes_values_as_tensor: tensor, nodes_hitrates: floats, "
    "nodes_hitrates_as_tensor: tensor, nodes_modes: strings, nodes_truenodeids: ints, "
    "nodes_falsenodeids: ints, nodes_missing_value_tracks_true: ints, class_treeids: ints, "
    "class_nodeids: ints, class_ids: ints, class_weights: floats, class_weights_as_tensor: tensor, "
    "classlabels_strings: strings, classlabels_int64s: ints, post_transform: string = 'NONE', "
    "base_values: floats, base_values_as_tensor: tensor} [T1: float double int64 int32; T2: string int64]";
constexpr std::string_view regressor_3 =
    "(X: T) -> (Y: float) {nodes_treeids: ints, nodes_nodeids: ints, nodes_featureids: ints, "
    "nodes_values: floats, nodes_values_as_tensor: tensor, nodes_hitrates: floats, "
    "nodes_hitrates_as_tensor: tensor, nodes_modes: strings, nodes_truenodeids: ints, "
    "nodes_falsenodeids: ints, nodes_missing_value_tracks_true: ints, target_treeids: ints, "
    "target_nodeids: ints, target_ids: ints, target_weights: floats, target_weights_as_tensor: tensor, "
    "n_targets: int, post_transform: string = 'NONE', aggregate_function: string = 'SUM', "
    "base_values: floats, base_values_as_tensor: tensor} [T: float double int64 int32]";

}  // namespace

// Signatures are broken between parameters.
// clang-format off
void declare_trees(SchemaCatalog& c) {
  c.add("ai.onnx.ml", "TreeEnsemble")
      .version(5,
               "(X: T) -> (Y: T) {aggregate_function: int = 1, post_transform: int = 0, n_targets: int, "
               "tree_roots: ints!, nodes_splits: tensor!, nodes_featureids: ints!, nodes_modes: tensor!, "
               "nodes_truenodeids: ints!, nodes_falsenodeids: ints!, nodes_trueleafs: ints!, "
               "nodes_falseleafs: ints!, nodes_missing_value_tracks_true: ints, nodes_hitrates: tensor, "
               "membership_values: tensor, leaf_targetids: ints!, leaf_weights: tensor!} "
               "[T: float double float16]")
      .rule<TreeEnsemble>()
      .tolerance({.epsilons = 64});
  // The standard ended these two in version 5, in favor of TreeEnsemble, to the same meaning: files that
  // hold them are read.
  c.add("ai.onnx.ml", "TreeEnsembleClassifier")
      .version(1,
               "(X: T1) -> (Y: T2, Z: float) {nodes_treeids: ints, nodes_nodeids: ints, "
               "nodes_featureids: ints, nodes_values: floats, nodes_hitrates: floats, nodes_modes: strings, "
               "nodes_truenodeids: ints, nodes_falsenodeids: ints, nodes_missing_value_tracks_true: ints, "
               "class_treeids: ints, class_nodeids: ints, class_ids: ints, class_weights: floats, "
               "classlabels_strings: strings, classlabels_int64s: ints, post_transform: string = 'NONE', "
               "base_values: floats} [T1: float double int64 int32; T2: string int64]")
      .version(3, classifier_3)
      .version(5, classifier_3)
      .rule<TreeEnsembleClassifier>()
      .output_type(label_type)
      .tolerance({.epsilons = 64});
  c.add("ai.onnx.ml", "TreeEnsembleRegressor")
      .version(1,
               "(X: T) -> (Y: float) {nodes_treeids: ints, nodes_nodeids: ints, nodes_featureids: ints, "
               "nodes_values: floats, nodes_hitrates: floats, nodes_modes: strings, nodes_truenodeids: ints, "
               "nodes_falsenodeids: ints, nodes_missing_value_tracks_true: ints, target_treeids: ints, "
               "target_nodeids: ints, target_ids: ints, target_weights: floats, n_targets: int, "
               "post_transform: string = 'NONE', aggregate_function: string = 'SUM', base_values: floats} "
               "[T: float double int64 int32]")
      .version(3, regressor_3)
      .version(5, regressor_3)
      .rule<TreeEnsembleRegressor>()
      .tolerance({.epsilons = 64});
}
// clang-format on

}  // namespace lathe
