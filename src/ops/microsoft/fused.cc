// Activations, products and convolutions with what was fused to them.
#include <algorithm>
#include <array>

#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

/// Appends the activation of that name behind the node.
void append_activation(UpgradeContext& u, const std::string& name, const std::vector<float>& params) {
  Attributes a;
  const auto param = [&](size_t i, const char* attribute) {
    if (i < params.size()) a.set(attribute, params[i]);
  };
  if (name.empty()) return;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" || name == "Softsign" ||
      name == "HardSwish")
    return u.append(0, name, {}, {});
  if (name == "Clip") {
    if (params.size() != 2) refuse(u, "two activation_params for Clip", std::to_string(params.size()));
    const ValueId like = input(u, 0);
    return u.append(0, "Clip", {number_like(u, params[0], like), number_like(u, params[1], like)}, {});
  }
  param(0, "alpha");
  if (name == "HardSigmoid") param(1, "beta");
  if (name != "LeakyRelu" && name != "Elu" && name != "ThresholdedRelu" && name != "HardSigmoid")
    refuse(u, "an activation that is known", name);
  u.append(0, name, {}, std::move(a));
}

void gelu(UpgradeContext& u) { become(u, "Gelu", {input(u, 0)}); }
void quick_gelu(UpgradeContext& u) {
  become(u, "Swish", {input(u, 0)}, with("alpha", u.node().attributes.get("alpha", 1.7020000219345093f)));
}
void fast_gelu(UpgradeContext& u) {
  const ValueId x = has(u, 1) ? one(u, "Add", {input(u, 0), input(u, 1)}) : input(u, 0);
  become(u, "Gelu", {x}, with("approximate", std::string("tanh")));
}
void bias_gelu(UpgradeContext& u) { become(u, "Gelu", {one(u, "Add", {input(u, 0), input(u, 1)})}); }
void bias_add(UpgradeContext& u) {
  become(u, "Add", {one(u, "Add", {input(u, 0), input(u, 1)}), input(u, 2)});
}

void fused_matmul(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  std::array<ValueId, 2> factors{input(u, 0), input(u, 1)};
  for (size_t i = 0; i < 2; ++i) {
    const bool batch = a.get<int64_t>(i == 0 ? "transBatchA" : "transBatchB", 0) != 0;
    if (a.get<int64_t>(i == 0 ? "transA" : "transB", 0) == 0 && !batch) continue;
    const auto rank = static_cast<int64_t>(rank_of_input(u, i));
    if (rank < 2) continue;
    std::vector<int64_t> perm;
    for (int64_t k = 0; k < rank; ++k) perm.push_back(k);
    if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    if (a.get<int64_t>(i == 0 ? "transA" : "transB", 0) != 0)
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    factors[i] = transposed(u, factors[i], std::move(perm));
  }
  const float alpha = a.get("alpha", 1.0f);
  const ValueId scale = alpha != 1 ? number_like(u, alpha, input(u, 0)) : no_id;
  become(u, "MatMul", {factors[0], factors[1]});
  if (scale != no_id) u.append(0, "Mul", {scale}, {});
}

void fused_gemm(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  Attributes kept;
  for (const char* name : {"alpha", "beta"}) kept.set(name, a.get(name, 1.0f));
  for (const char* name : {"transA", "transB"}) kept.set(name, a.get<int64_t>(name, 0));
  std::vector<float> params;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (const float* v = a.get_if<float>(name)) params.push_back(*v);
  become(u, "Gemm", {input(u, 0), input(u, 1), input(u, 2)}, std::move(kept));
  append_activation(u, a.get<std::string>("activation", {}), params);
}

void fused_conv(UpgradeContext& u) {
  Attributes a = u.node().attributes;
  const auto activation = a.get<std::string>("activation", {});
  const auto params = a.get<std::vector<float>>("activation_params", {});
  a.erase("activation");
  a.erase("activation_params");
  const ValueId added = input(u, 3);
  become(u, "Conv", {input(u, 0), input(u, 1), input(u, 2)}, std::move(a));
  append_activation(u, activation, params);  // a later append comes before it
  if (added != no_id) u.append(0, "Add", {added}, {});
}

/// Channels are the last axis of images, and the second one of the filters.
void nhwc_conv(UpgradeContext& u) {
  const auto rank = static_cast<int64_t>(rank_of_input(u, 0));
  if (rank < 3) refuse(u, "images", "rank " + std::to_string(rank));
  std::vector<int64_t> first{0, rank - 1}, last{0};
  for (int64_t k = 1; k + 1 < rank; ++k) first.push_back(k), last.push_back(k + 1);
  last.push_back(1);
  const ValueId x = transposed(u, input(u, 0), std::move(first));
  become(u, "Conv", {x, input(u, 1), input(u, 2)}, u.node().attributes);
  u.append(0, "Transpose", {}, with("perm", std::move(last)));
}

}  // namespace

std::span<const Declared> fused_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"Gelu",
       "(X: T) -> (Y: T) [T: @float_13]",
       gelu},
      {"QuickGelu",
       "(X: T) -> (Y: T) {alpha: float = 1.7020000219345093} [T: @float_13]",
       quick_gelu},
      {"FastGelu",
       "(X: T, bias?: T) -> (Y: T) [T: @float_13]",
       fast_gelu},
      {"BiasGelu",
       "(A: T, B: T) -> (C: T) [T: @float_13]",
       bias_gelu},
      {"BiasAdd",
       "(X: T, bias: T, skip: T) -> (Y: T) [T: float16 float]",
       bias_add},
      {"FusedMatMul",
       "(A: T, B: T) -> (Y: T) "
       "{transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0, alpha: float = 1} "
       "[T: @float_13]",
       fused_matmul},
      {"FusedGemm",
       "(A: T, B: T, C?: T) -> (Y: T) {activation: string, activation_alpha: float, "
       "activation_beta: float, activation_gamma: float, alpha: float = 1, beta: float = 1, "
       "transA: int = 0, transB: int = 0} [T: @wide]",
       fused_gemm},
      {"FusedConv",
       "(X: T, W: T, B?: T, Z?: T) -> (Y: T) {activation: string, activation_params: floats, "
       "auto_pad: string = 'NOTSET', dilations: ints, group: int = 1, kernel_shape: ints, pads: ints, "
       "strides: ints} [T: @float]",
       fused_conv},
      {"NhwcConv",
       "(X: T, W: T, B?: T) -> (Y: T) {auto_pad: string = 'NOTSET', dilations: ints, group: int = 1, "
       "kernel_shape: ints, pads: ints, strides: ints} [T: @float]",
       nhwc_conv},
  };
  // clang-format on
  return list;
}

}  // namespace lathe::microsoft
