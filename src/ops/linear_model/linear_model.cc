#include "ops/linear_model/linear_model.h"

#include "ops/linear_model/label_type.h"

namespace lathe {
// Signatures are broken between parameters.
// clang-format off
void declare_linear_model(SchemaCatalog& c) {
  c.add("ai.onnx.ml", "LinearRegressor")
      .version(1,
               "(X: T) -> (Y: float) {post_transform: string = 'NONE', coefficients: floats, "
               "intercepts: floats, targets: int = 1} [T: float double int64 int32]")
      .rule<LinearRegressor>()
      .tolerance({.epsilons = 64});
  c.add("ai.onnx.ml", "LinearClassifier")
      .version(1,
               "(X: T1) -> (Y: T2, Z: float) {coefficients: floats!, intercepts: floats, "
               "multi_class: int = 0, classlabels_strings: strings, classlabels_ints: ints, "
               "post_transform: string = 'NONE'} [T1: float double int64 int32; T2: string int64]")
      .rule<LinearClassifier>()
      .output_type(label_type)
      .tolerance({.epsilons = 64});
  c.add("ai.onnx.ml", "SVMRegressor")
      .version(1,
               "(X: T) -> (Y: float) {kernel_type: string = 'LINEAR', kernel_params: floats, "
               "support_vectors: floats, one_class: int = 0, coefficients: floats, n_supports: int = 0, "
               "post_transform: string = 'NONE', rho: floats} [T: float double int64 int32]")
      .rule<SVMRegressor>()
      .tolerance({.epsilons = 64});
  c.add("ai.onnx.ml", "SVMClassifier")
      .version(1,
               "(X: T1) -> (Y: T2, Z: float) {kernel_type: string = 'LINEAR', kernel_params: floats, "
               "vectors_per_class: ints, support_vectors: floats, coefficients: floats, prob_a: floats, "
               "prob_b: floats, rho: floats, post_transform: string = 'NONE', classlabels_strings: strings, "
               "classlabels_ints: ints} [T1: float double int64 int32; T2: string int64]")
      .rule<SVMClassifier>()
      .output_type(label_type)
      .tolerance({.epsilons = 64});
}
// clang-format on

}  // namespace lathe
