// Norms, and the embeddings before the first of them.
#include <array>

#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

constexpr float default_epsilon = 9.999999960041972e-13f;

ValueId sum_of(UpgradeContext& u, std::initializer_list<size_t> which) {
  ValueId sum = no_id;
  for (size_t i : which)
    if (has(u, i)) sum = sum == no_id ? input(u, i) : one(u, "Add", {sum, input(u, i)});
  return sum;
}

Attributes over_last_axis(UpgradeContext& u) {
  Attributes a = with("axis", int64_t{-1});
  a.set("epsilon", u.node().attributes.get("epsilon", default_epsilon));
  return a;
}

/// Output 3, which the standard's norms do not have.
void give_sum(UpgradeContext& u, ValueId sum) {
  if (wants(u, 3)) u.give(3, sum);
}

void skip_layer_norm(UpgradeContext& u) {
  const ValueId sum = sum_of(u, {0, 1, 4});
  give_sum(u, sum);
  become(u, "LayerNormalization", {sum, input(u, 2), input(u, 3)}, over_last_axis(u));
}

/// 1 over the root of the mean of squares.
ValueId inverse_root(UpgradeContext& u, ValueId x, std::vector<int64_t> axes, float epsilon) {
  const ValueId mean = one(u, "ReduceMean", {one(u, "Mul", {x, x}), ints(u, std::move(axes))});
  return one(u, "Reciprocal", {one(u, "Sqrt", {one(u, "Add", {mean, number_like(u, epsilon, x)})})});
}

void skip_simplified_layer_norm(UpgradeContext& u) {
  const ValueId sum = sum_of(u, {0, 1, 3});
  give_sum(u, sum);
  if (wants(u, 1) || wants(u, 2)) {
    const ValueId x = cast(u, sum, DataType::float32);
    if (wants(u, 1)) u.give(1, one(u, "ReduceMean", {x, ints(u, {-1})}));
    if (wants(u, 2)) u.give(2, inverse_root(u, x, {-1}, u.node().attributes.get("epsilon", default_epsilon)));
  }
  become(u, "RMSNormalization", {sum, input(u, 2)}, over_last_axis(u));
}

/// ONNX Runtime writes this operator into the standard's domain.
void simplified_layer_norm(UpgradeContext& u) {
  Attributes a = u.node().attributes;
  if (wants(u, 1)) {
    const auto axis = a.get<int64_t>("axis", -1);
    std::vector<int64_t> axes;
    for (int64_t i = axis, end = axis < 0 ? 0 : static_cast<int64_t>(rank_of_input(u, 0)); i < end; ++i)
      axes.push_back(i);
    const ValueId x = cast(u, input(u, 0), static_cast<DataType>(a.get<int64_t>("stash_type", 1)));
    u.give(1, inverse_root(u, x, std::move(axes), a.get("epsilon", 1e-5f)));
  }
  become(u, "RMSNormalization", {input(u, 0), input(u, 1)}, std::move(a));
}

/// The number of tokens of each sample, counted as the ones of its mask.
ValueId count_words(UpgradeContext& u) {
  if (has(u, 7)) {
    const ValueId word = u.add_constant(Tensor::scalar<int32_t>(1), "word");
    Attributes last = with("keepdims", int64_t{0});
    const ValueId words = cast(u, one(u, "Equal", {input(u, 7), word}), DataType::int32);
    return one(u, "ReduceSum", {words, ints(u, {-1})}, std::move(last));
  }
  const ValueId none = u.add_constant(Tensor::scalar<int32_t>(0), "none");
  return one(u, "Expand", {none, length(u, input(u, 0), 0)});
}

void embed_layer_norm(UpgradeContext& u) {
  ValueId sum = one(u, "Gather", {input(u, 2), input(u, 0)});
  if (has(u, 8)) {
    sum = one(u, "Add", {sum, one(u, "Gather", {input(u, 3), input(u, 8)})});
  } else {
    // The first positions of the table, as many as there are tokens.
    const ValueId zero = ints(u, {0});
    const ValueId words = length(u, input(u, 0), 1);
    sum = one(u, "Add", {sum, one(u, "Slice", {input(u, 3), zero, words, zero})});
  }
  if (has(u, 1) && has(u, 4)) sum = one(u, "Add", {sum, one(u, "Gather", {input(u, 4), input(u, 1)})});
  if (wants(u, 1)) u.give(1, count_words(u));
  if (wants(u, 2)) u.give(2, sum);
  become(u, "LayerNormalization", {sum, input(u, 5), input(u, 6)}, over_last_axis(u));
}

void group_norm(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  const bool last = a.get<int64_t>("channels_last", 1) != 0;
  const auto rank = static_cast<int64_t>(rank_of_input(u, 0));
  if (rank < 3) refuse(u, "images", "rank " + std::to_string(rank));
  ValueId x = input(u, 0);
  std::vector<int64_t> back;
  if (last) {
    std::vector<int64_t> perm{0, rank - 1};
    back.push_back(0);
    for (int64_t k = 1; k + 1 < rank; ++k) perm.push_back(k), back.push_back(k + 1);
    back.push_back(1);
    x = transposed(u, x, std::move(perm));
  }
  Attributes norm = with("num_groups", a.get<int64_t>("groups", 1));
  norm.set("epsilon", a.get("epsilon", 9.999999747378752e-06f));
  std::array<ValueId, 2> of_channels{input(u, 1), input(u, 2)};
  for (ValueId& v : of_channels)
    if (u.type(v).elem != u.type(x).elem) v = one(u, "CastLike", {v, x});
  const bool activated = a.get<int64_t>("activation", 0) != 0;
  become(u, "GroupNormalization", {x, of_channels[0], of_channels[1]}, std::move(norm));
  if (last) u.append(0, "Transpose", {}, with("perm", std::move(back)));
  if (activated) u.append(0, "Swish", {}, {});
}

}  // namespace

std::span<const Declared> norm_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"SkipLayerNormalization",
       "(input: T, skip: T, gamma: T, beta?: T, bias?: T) "
       "-> (output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T) "
       "{epsilon: float = 9.999999960041972e-13} [T: float float16 bfloat16; U: float]",
       skip_layer_norm},
      {"SkipSimplifiedLayerNormalization",
       "(input: T, skip: T, gamma: T, bias?: T) "
       "-> (output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T) "
       "{epsilon: float = 9.999999960041972e-13} [T: float float16 bfloat16; U: float]",
       skip_simplified_layer_norm},
      {"EmbedLayerNormalization",
       "(input_ids: T1, segment_ids?: T1, word_embedding: T, position_embedding: T, "
       "segment_embedding?: T, gamma: T, beta: T, mask?: T1, position_ids?: T1) "
       "-> (output: T, mask_index?: T1, embedding_sum?: T) "
       "{epsilon: float = 9.999999960041972e-13, mask_index_type: int} [T: float float16; T1: int32]",
       embed_layer_norm},
      {"GroupNorm",
       "(X: T, gamma: M, beta: M) -> (Y: T) "
       "{activation: int!, channels_last: int = 1, epsilon: float = 9.999999747378752e-06, groups: int!} "
       "[T: float16 float; M: float16 float]",
       group_norm},
  };
  // clang-format on
  return list;
}

std::span<const Declared> operators_in_the_standards_domain() {
  static constexpr Declared list[] = {
      {"SimplifiedLayerNormalization",
       "(X: T, scale: V) -> (Y: V, inv_std_var?: U) {stash_type: int = 1, epsilon: float = "
       "9.999999747378752e-06, axis: int = -1} [T: @float_13; V: @float_13; U: float double]",
       simplified_layer_norm},
  };
  return list;
}

}  // namespace lathe::microsoft
