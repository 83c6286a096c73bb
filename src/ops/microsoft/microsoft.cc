// Operators of domain com.microsoft, which ONNX Runtime's optimiser and its exporters write into files: each
// becomes standard operators when it is read. What a node says that these cannot is refused with a reason.
#include <algorithm>
#include <array>
#include <string>

#include "schema/schema.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(UpgradeContext& u, std::string expected, std::string got) {
  throw Error(Code::node_cannot_convert, "import", std::move(expected) + " of com.microsoft." + u.node().op,
              std::move(got), "export or optimise the model without this operator");
}

/// No version of theirs: where the standard's operators take over.
constexpr int standard_from = 1'000'000;

bool has(UpgradeContext& u, size_t input) {
  return input < u.node().inputs.size() && u.node().inputs[input] != no_id;
}
ValueId input(UpgradeContext& u, size_t i) { return has(u, i) ? u.node().inputs[i] : no_id; }

Attributes with(std::string name, AttributeValue v) {
  Attributes a;
  a.set(std::move(name), std::move(v));
  return a;
}

ValueId one(UpgradeContext& u, std::string_view op, std::vector<ValueId> inputs, Attributes a = {}) {
  return u.insert(op, std::move(inputs), std::move(a))[0];
}

/// The node itself, as another operator.
void become(UpgradeContext& u, const char* op, std::vector<ValueId> inputs, Attributes a = {}) {
  Node& n = u.node();
  n.op = op;
  n.domain.clear();
  while (!inputs.empty() && inputs.back() == no_id) inputs.pop_back();
  n.inputs = std::move(inputs);
  n.attributes = std::move(a);
}

/// Only the first output is made, and the one at `sum` is `v`.
void give_outputs(UpgradeContext& u, size_t sum, ValueId v) {
  for (size_t i = 1; i < u.node().outputs.size(); ++i)
    if (i != sum && u.node().outputs[i] != no_id)
      refuse(u, "no output " + std::to_string(i), "one that is wanted");
  if (sum < u.node().outputs.size() && u.node().outputs[sum] != no_id) u.give(sum, v);
  u.node().outputs.resize(1);
}

/// A number in the type of a value.
ValueId number_like(UpgradeContext& u, float v, ValueId like) {
  const ValueId plain = u.add_constant(Tensor::scalar(v), "number");
  return u.type(like).elem == DataType::float32 ? plain : one(u, "CastLike", {plain, like});
}

size_t rank_of_input(UpgradeContext& u, size_t i) {
  const ValueType t = u.input_type(i);
  if (!t.shape) refuse(u, "inputs of known rank", t.str());
  return t.shape->size();
}

ValueId transposed(UpgradeContext& u, ValueId v, std::vector<int64_t> perm) {
  return one(u, "Transpose", {v}, with("perm", std::move(perm)));
}

/// Which activation it is, behind the node.
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

// ── Activations and products

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
  append_activation(u, activation, params);  // what is appended last comes first
  if (added != no_id) u.append(0, "Add", {added}, {});
}

// ── Norms and embeddings

ValueId sum_of(UpgradeContext& u, std::initializer_list<size_t> which) {
  ValueId sum = no_id;
  for (size_t i : which)
    if (has(u, i)) sum = sum == no_id ? input(u, i) : one(u, "Add", {sum, input(u, i)});
  return sum;
}

Attributes over_last_axis(UpgradeContext& u) {
  Attributes a = with("axis", int64_t{-1});
  a.set("epsilon", u.node().attributes.get("epsilon", 9.999999960041972e-13f));
  return a;
}

void skip_layer_norm(UpgradeContext& u) {
  const ValueId sum = sum_of(u, {0, 1, 4});
  give_outputs(u, 3, sum);
  become(u, "LayerNormalization", {sum, input(u, 2), input(u, 3)}, over_last_axis(u));
}

void skip_simplified_layer_norm(UpgradeContext& u) {
  const ValueId sum = sum_of(u, {0, 1, 3});
  give_outputs(u, 3, sum);
  become(u, "RMSNormalization", {sum, input(u, 2)}, over_last_axis(u));
}

void embed_layer_norm(UpgradeContext& u) {
  ValueId sum = one(u, "Gather", {input(u, 2), input(u, 0)});
  if (has(u, 8)) {
    sum = one(u, "Add", {sum, one(u, "Gather", {input(u, 3), input(u, 8)})});
  } else {
    // The first places of the table, as many as there are words.
    const ValueId zero = u.add_constant(int64_vector(std::array<int64_t, 1>{0}), "zero");
    Attributes length = with("start", int64_t{1});
    length.set("end", int64_t{2});
    const ValueId words = one(u, "Shape", {input(u, 0)}, std::move(length));
    sum = one(u, "Add", {sum, one(u, "Slice", {input(u, 3), zero, words, zero})});
  }
  if (has(u, 1) && has(u, 4)) sum = one(u, "Add", {sum, one(u, "Gather", {input(u, 4), input(u, 1)})});
  give_outputs(u, 2, sum);
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

void rotary_embedding(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  if (a.get<int64_t>("is_packed_batching", 0) != 0) refuse(u, "is_packed_batching 0", "1");
  const size_t rank = rank_of_input(u, 0), position_rank = rank_of_input(u, 1);
  Attributes kept;
  for (const char* name : {"interleaved", "rotary_embedding_dim", "num_heads"})
    kept.set(name, a.get<int64_t>(name, 0));
  if (rank == 3 && a.get<int64_t>("num_heads", 0) == 0) {
    const SymShape x = *u.input_type(0).shape;
    const ValueType table = u.input_type(2);
    const auto width = known(x[2]), half = table.shape ? known(table.shape->back()) : std::nullopt;
    if (!width || !half || *half == 0 || *width % (2 * *half) != 0) refuse(u, "num_heads", "none");
    kept.set("num_heads", *width / (2 * *half));
  }
  ValueId positions = input(u, 1);
  if (position_rank != 2) {
    // One number: where the first of every sequence stands.
    const auto size = [&](int64_t axis) {
      Attributes range = with("start", axis);
      range.set("end", axis + 1);
      return one(u, "Shape", {input(u, 0)}, std::move(range));
    };
    const ValueId batch = size(0), length = size(rank == 3 ? 1 : 2);
    const ValueId zero = u.add_constant(Tensor::scalar<int64_t>(0), "zero"),
                  step = u.add_constant(Tensor::scalar<int64_t>(1), "step");
    const ValueId steps = one(u, "Range", {zero, one(u, "Squeeze", {length}), step});
    positions =
        one(u, "Expand",
            {one(u, "Add", {steps, positions}), one(u, "Concat", {batch, length}, with("axis", int64_t{0}))});
  }
  become(u, "RotaryEmbedding", {input(u, 0), input(u, 2), input(u, 3), positions}, std::move(kept));
}

// ── Quantised numbers

/// A zero point of its type where there is none.
ValueId zero_point(UpgradeContext& u, size_t i, DataType type) {
  if (has(u, i)) return input(u, i);
  Tensor zero(type, {});
  store_int(zero, 0, 0);
  return u.add_constant(std::move(zero), "zero_point");
}

/// One number where it is a list of one.
ValueId as_scalar(UpgradeContext& u, ValueId v) {
  const ValueType t = u.type(v);
  if (!t.shape || t.shape->size() != 1 || known((*t.shape)[0]) != 1) return v;
  return one(u, "Squeeze", {v});
}

/// Input `x` as real numbers, by its scale and zero point; several of them are those of the last axis.
ValueId real(UpgradeContext& u, size_t x, size_t scale, size_t zero) {
  const DataType type = u.input_type(x).elem;
  return one(u, "DequantizeLinear",
             {input(u, x), as_scalar(u, input(u, scale)), as_scalar(u, zero_point(u, zero, type))},
             with("axis", int64_t{-1}));
}

void append_quantize(UpgradeContext& u, ValueId scale, ValueId zero) {
  u.append(0, "QuantizeLinear", {scale, zero}, {});
}

template <const auto& op>
void quantized_pair(UpgradeContext& u) {
  const ValueId a = real(u, 0, 1, 2), b = real(u, 3, 4, 5),
                zero = as_scalar(u, zero_point(u, 7, u.input_type(0).elem)),
                scale = as_scalar(u, input(u, 6));
  become(u, op, {a, b});
  append_quantize(u, scale, zero);
}

/// Operators of one input; attributes that the standard's operator has stay.
template <const auto& op>
void quantized_unary(UpgradeContext& u) {
  Attributes a = u.node().attributes;
  if (a.get<int64_t>("channels_last", 0) != 0) refuse(u, "channels_last 0", "1");
  a.erase("channels_last");
  if (const auto* opset = a.get_if<int64_t>("opset")) {
    const int64_t axis = a.get<int64_t>("axis", -1), rank = static_cast<int64_t>(rank_of_input(u, 0));
    if (*opset < 13 && axis != -1 && axis != rank - 1)
      refuse(u, "the last axis, below opset 13", std::to_string(axis));
    a.erase("opset");
  }
  const ValueId x = real(u, 0, 1, 2), zero = as_scalar(u, zero_point(u, 4, u.input_type(0).elem)),
                scale = as_scalar(u, input(u, 3));
  become(u, op, {x}, std::move(a));
  append_quantize(u, scale, zero);
}

void quantized_concat(UpgradeContext& u) {
  const size_t count = u.node().inputs.size();
  if (count < 5 || (count - 2) % 3 != 0)
    refuse(u, "triples of inputs, scales and zero points", std::to_string(count) + " inputs");
  std::vector<ValueId> parts;
  for (size_t i = 2; i < count; i += 3) parts.push_back(real(u, i, i + 1, i + 2));
  const ValueId scale = as_scalar(u, input(u, 0)), zero = as_scalar(u, input(u, 1));
  become(u, "Concat", std::move(parts), with("axis", u.node().attributes.get<int64_t>("axis", 0)));
  append_quantize(u, scale, zero);
}

void matmul_integer_to_float(UpgradeContext& u) {
  const ValueId a = real(u, 0, 2, 4), b = real(u, 1, 3, 5), bias = input(u, 6);
  become(u, "MatMul", {a, b});
  if (bias != no_id) u.append(0, "Add", {bias}, {});
}

void dynamic_quantize_matmul(UpgradeContext& u) {
  const auto quantized = u.insert("DynamicQuantizeLinear", {input(u, 0)}, {}, 3);
  const ValueId a = one(u, "DequantizeLinear", {quantized[0], quantized[1], quantized[2]});
  const ValueId b = real(u, 1, 2, 3), bias = input(u, 4);
  become(u, "MatMul", {a, b});
  if (bias != no_id) u.append(0, "Add", {bias}, {});
}

void quantize(UpgradeContext& u) {
  become(u, "QuantizeLinear", {input(u, 0), input(u, 1), input(u, 2)},
         with("axis", u.node().attributes.get<int64_t>("axis", 1)));
}
void dequantize(UpgradeContext& u) {
  become(u, "DequantizeLinear", {input(u, 0), input(u, 1), input(u, 2)},
         with("axis", u.node().attributes.get<int64_t>("axis", 1)));
}

constexpr char add_op[] = "Add", mul_op[] = "Mul", sigmoid_op[] = "Sigmoid", leaky_relu_op[] = "LeakyRelu",
               softmax_op[] = "Softmax", average_pool_op[] = "AveragePool",
               global_average_pool_op[] = "GlobalAveragePool";

struct Declared {
  const char *name, *signature;
  Upgrade into_standard;
};

constexpr Declared operators[] = {
    {"Gelu", "(X: T) -> (Y: T) [T: @float_13]", gelu},
    {"QuickGelu", "(X: T) -> (Y: T) {alpha: float = 1.7020000219345093} [T: @float_13]", quick_gelu},
    {"FastGelu", "(X: T, bias?: T) -> (Y: T) [T: @float_13]", fast_gelu},
    {"BiasGelu", "(A: T, B: T) -> (C: T) [T: @float_13]", bias_gelu},
    {"BiasAdd", "(X: T, bias: T, skip: T) -> (Y: T) [T: float16 float]", bias_add},
    {"FusedMatMul",
     "(A: T, B: T) -> (Y: T) {transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0, "
     "alpha: float = 1} "
     "[T: @float_13]",
     fused_matmul},
    {"FusedGemm",
     "(A: T, B: T, C?: T) -> (Y: T) {activation: string, activation_alpha: float, activation_beta: float, "
     "activation_gamma: "
     "float, alpha: float = 1, beta: float = 1, transA: int = 0, transB: int = 0} [T: @wide]",
     fused_gemm},
    {"FusedConv",
     "(X: T, W: T, B?: T, Z?: T) -> (Y: T) {activation: string, activation_params: floats, auto_pad: string "
     "= 'NOTSET', "
     "dilations: ints, group: int = 1, kernel_shape: ints, pads: ints, strides: ints} [T: @float]",
     fused_conv},
    {"SkipLayerNormalization",
     "(input: T, skip: T, gamma: T, beta?: T, bias?: T) -> (output: T, mean?: U, inv_std_var?: U, "
     "input_skip_bias_sum?: T) "
     "{epsilon: float = 9.999999960041972e-13} [T: float float16 bfloat16; U: float]",
     skip_layer_norm},
    {"SkipSimplifiedLayerNormalization",
     "(input: T, skip: T, gamma: T, bias?: T) -> (output: T, mean?: U, inv_std_var?: U, "
     "input_skip_bias_sum?: T) {epsilon: "
     "float = 9.999999960041972e-13} [T: float float16 bfloat16; U: float]",
     skip_simplified_layer_norm},
    {"EmbedLayerNormalization",
     "(input_ids: T1, segment_ids?: T1, word_embedding: T, position_embedding: T, segment_embedding?: T, "
     "gamma: T, beta: T, "
     "mask?: T1, position_ids?: T1) -> (output: T, mask_index?: T1, embedding_sum?: T) {epsilon: float = "
     "9.999999960041972e-13, mask_index_type: int} [T: float float16; T1: int32]",
     embed_layer_norm},
    {"GroupNorm",
     "(X: T, gamma: M, beta: M) -> (Y: T) {activation: int!, channels_last: int = 1, epsilon: float = "
     "9.999999747378752e-06, "
     "groups: int!} [T: float16 float; M: float16 float]",
     group_norm},
    {"RotaryEmbedding",
     "(input: T, position_ids: M, cos_cache: T, sin_cache: T) -> (output: T) {interleaved: int, "
     "is_packed_batching: int, "
     "num_heads: int, rotary_embedding_dim: int, scale: float} [T: float float16 bfloat16; M: int64]",
     rotary_embedding},
    {"QLinearAdd",
     "(A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, C_scale: float, "
     "C_zero_point?: T) -> "
     "(C: T) [T: uint8 int8]",
     quantized_pair<add_op>},
    {"QLinearMul",
     "(A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, C_scale: float, "
     "C_zero_point?: T) -> "
     "(C: T) [T: uint8 int8]",
     quantized_pair<mul_op>},
    {"QLinearSigmoid",
     "(X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T) -> (Y: T) [T: uint8 int8]",
     quantized_unary<sigmoid_op>},
    {"QLinearLeakyRelu",
     "(X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T) -> (Y: T) {alpha: float = "
     "0.009999999776482582} [T: uint8 int8]",
     quantized_unary<leaky_relu_op>},
    {"QLinearSoftmax",
     "(X: T, X_scale: float, x_zero_point?: T, y_scale: float, y_zero_point: T) -> (Y: T) {axis: int = -1, "
     "opset: int!} [T: "
     "uint8 int8]",
     quantized_unary<softmax_op>},
    {"QLinearAveragePool",
     "(X: T, x_scale: float, x_zero_point?: T, y_scale: float, y_zero_point?: T) -> (Y: T) {auto_pad: string "
     "= 'NOTSET', "
     "ceil_mode: int = 0, channels_last: int = 0, count_include_pad: int = 0, kernel_shape: ints!, pads: "
     "ints, strides: ints} "
     "[T: uint8 int8]",
     quantized_unary<average_pool_op>},
    {"QLinearGlobalAveragePool",
     "(X: T, x_scale: float, x_zero_point: T, y_scale: float, y_zero_point: T) -> (Y: T) {channels_last: int "
     "= 0} [T: uint8 "
     "int8]",
     quantized_unary<global_average_pool_op>},
    {"QLinearConcat",
     "(Y_scale: TF, Y_zero_point: T8, inputs~1: TV) -> (Y: T8) {axis: int!} [T8: uint8 int8; TF: float; TV: "
     "uint8 int8 float]",
     quantized_concat},
    {"MatMulIntegerToFloat",
     "(A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3) -> (Y: T3) "
     "[T1: int8 uint8; "
     "T2: int8 uint8; T3: float float16]",
     matmul_integer_to_float},
    {"DynamicQuantizeMatMul",
     "(A: T1, B: T2, b_scale: T1, b_zero_point?: T2, bias?: T1) -> (Y: T1) [T1: float; T2: int8 uint8]",
     dynamic_quantize_matmul},
    {"QuantizeLinear",
     "(x: T1, y_scale: T1, y_zero_point?: T2) -> (y: T2) {axis: int} [T1: float16 float; T2: int8 uint8 "
     "int16 uint16 int4 "
     "uint4]",
     quantize},
    {"DequantizeLinear",
     "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) {axis: int} [T1: int8 uint8 int16 uint16 int32 int4 "
     "uint4; T2: "
     "float16 float]",
     dequantize},
};

}  // namespace

void declare_microsoft(SchemaCatalog& c) {
  for (const Declared& d : operators)
    c.add("com.microsoft", d.name).version(1, d.signature).deprecated(standard_from, d.into_standard);
}

}  // namespace lathe
