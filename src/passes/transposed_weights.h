// Weights that are stored transposed from what their products require, such as embeddings that make logits
// again.
#pragma once

#include <algorithm>
#include <vector>

#include "passes/patterns.h"

namespace lathe {

/// Transposing so many bytes or more is avoided.
inline constexpr size_t large_weights = size_t{4} << 20;

/// Returns the sizes of MatMul's result for Gemm, which takes matrices: -1 for one that is not fixed. It is
/// empty if more are not fixed, if one is 0, which Reshape takes for another size, or if a Reshape would
/// separate operators from the product.
inline std::vector<int64_t> sizes_of_product(const Graph& g, const std::vector<Use>& readers,
                                             const Node& matmul) {
  const ValueType &x = g.value(matmul.inputs[0]).type, &y = g.value(matmul.outputs[0]).type;
  if (!x.is_tensor() || !x.shape || x.shape->size() < 2 || !y.is_tensor() || !y.shape ||
      y.shape->size() != x.shape->size())
    return {};
  std::vector<int64_t> sizes;
  for (const Dim& d : *y.shape) sizes.push_back(d.value().value_or(-1));
  const bool torn = sizes.size() > 2 && std::ranges::any_of(readers, [&](const Use& u) {
                      return u.input != UINT32_MAX && !keeps_order(g.node(u.node));
                    });
  const bool can_reshape = std::ranges::count(sizes, -1) <= 1 && std::ranges::count(sizes, 0) == 0;
  return torn || !can_reshape ? std::vector<int64_t>() : sizes;
}

/// Returns whether only MatMuls that Gemm can replace read the result of this Transpose of a large constant
/// matrix, so that nothing needs to be transposed. `uses(v)`: the readers of v.
template <class Uses>
bool is_transpose_for_products(const Graph& g, const Node& transpose, Uses&& uses) {
  const auto perm = transpose.attributes.get<std::vector<int64_t>>("perm", {1, 0});
  const Tensor* const w = g.constant_tensor(transpose.inputs[0]);
  const ValueId result = transpose.outputs[0];
  return View::is(transpose, "Transpose") && w && w->rank() == 2 && w->bytes() >= large_weights &&
         perm == std::vector<int64_t>{1, 0} && !g.is_output(result) && !uses(result).empty() &&
         std::ranges::all_of(uses(result), [&](const Use& u) {
           if (u.input != 1 || !View::is(g.node(u.node), "MatMul")) return false;
           const Node& matmul = g.node(u.node);
           return !sizes_of_product(g, uses(matmul.outputs[0]), matmul).empty();
         });
}

}  // namespace lathe
