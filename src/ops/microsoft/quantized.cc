// Operators on quantized numbers: dequantized, computed, quantized again. The builder finds the integers
// behind them.
#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

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

void qgemm(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  const bool trans_b = a.get<int64_t>("transB", 0) != 0;
  const float alpha = a.get("alpha", 1.0f);
  const ValueId x = real(u, 0, 1, 2), w = real(u, 3, 4, 5, trans_b ? 0 : 1);
  ValueId c = no_id;
  if (has(u, 6)) {
    // Whole numbers, quantized as the products are.
    const ValueId grid = one(u, "Mul", {as_scalar(u, input(u, 1)), as_scalar(u, input(u, 4))});
    c = one(u, "Mul", {cast(u, input(u, 6), DataType::float32), grid});
    if (alpha != 1) c = one(u, "Mul", {c, number_like(u, alpha, c)});
  }
  Attributes kept = with("alpha", alpha);
  for (const char* name : {"transA", "transB"}) kept.set(name, a.get<int64_t>(name, 0));
  const bool quantized = has(u, 7);
  const ValueId scale = quantized ? as_scalar(u, input(u, 7)) : no_id,
                zero = quantized ? as_scalar(u, zero_point(u, 8, u.input_type(0).elem)) : no_id;
  become(u, "Gemm", {x, w, c}, std::move(kept));
  if (quantized) append_quantize(u, scale, zero);
}

constexpr char add_op[] = "Add", mul_op[] = "Mul", sigmoid_op[] = "Sigmoid", leaky_relu_op[] = "LeakyRelu",
               softmax_op[] = "Softmax", average_pool_op[] = "AveragePool",
               global_average_pool_op[] = "GlobalAveragePool";

}  // namespace

std::span<const Declared> quantized_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"QLinearAdd",
       "(A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, C_scale: float, "
       "C_zero_point?: T) -> (C: T) [T: uint8 int8]",
       quantized_pair<add_op>},
      {"QLinearMul",
       "(A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, C_scale: float, "
       "C_zero_point?: T) -> (C: T) [T: uint8 int8]",
       quantized_pair<mul_op>},
      {"QLinearSigmoid",
       "(X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T) -> (Y: T) "
       "[T: uint8 int8]",
       quantized_unary<sigmoid_op>},
      {"QLinearLeakyRelu",
       "(X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T) -> (Y: T) "
       "{alpha: float = 0.009999999776482582} [T: uint8 int8]",
       quantized_unary<leaky_relu_op>},
      {"QLinearSoftmax",
       "(X: T, X_scale: float, x_zero_point?: T, y_scale: float, y_zero_point: T) -> (Y: T) "
       "{axis: int = -1, opset: int!} [T: uint8 int8]",
       quantized_unary<softmax_op>},
      {"QLinearAveragePool",
       "(X: T, x_scale: float, x_zero_point?: T, y_scale: float, y_zero_point?: T) -> (Y: T) "
       "{auto_pad: string = 'NOTSET', ceil_mode: int = 0, channels_last: int = 0, "
       "count_include_pad: int = 0, kernel_shape: ints!, pads: ints, strides: ints} [T: uint8 int8]",
       quantized_unary<average_pool_op>},
      {"QLinearGlobalAveragePool",
       "(X: T, x_scale: float, x_zero_point: T, y_scale: float, y_zero_point: T) -> (Y: T) "
       "{channels_last: int = 0} [T: uint8 int8]",
       quantized_unary<global_average_pool_op>},
      {"QLinearConcat",
       "(Y_scale: TF, Y_zero_point: T8, inputs~1: TV) -> (Y: T8) {axis: int!} "
       "[T8: uint8 int8; TF: float; TV: uint8 int8 float]",
       quantized_concat},
      {"MatMulIntegerToFloat",
       "(A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3) "
       "-> (Y: T3) [T1: int8 uint8; T2: int8 uint8; T3: float float16]",
       matmul_integer_to_float},
      {"DynamicQuantizeMatMul",
       "(A: T1, B: T2, b_scale: T1, b_zero_point?: T2, bias?: T1) -> (Y: T1) [T1: float; T2: int8 uint8]",
       dynamic_quantize_matmul},
      {"QuantizeLinear",
       "(x: T1, y_scale: T1, y_zero_point?: T2) -> (y: T2) {axis: int} "
       "[T1: float16 float; T2: int8 uint8 int16 uint16 int4 uint4]",
       quantize},
      {"DequantizeLinear",
       "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) {axis: int} "
       "[T1: int8 uint8 int16 uint16 int32 int4 uint4; T2: float16 float]",
       dequantize},
      {"QGemm",
       "(A: TA, a_scale: T, a_zero_point: TA, B: TB, b_scale: T, b_zero_point: TB, C?: TC, y_scale?: T, "
       "y_zero_point?: TYZ) -> (Y: TY) {alpha: float = 1, transA: int = 0, transB: int = 0} "
       "[T: float; TA: uint8 int8; TB: uint8 int8; TC: int32; TYZ: uint8 int8; TY: float uint8 int8]",
       qgemm},
  };
  // clang-format on
  return list;
}

}  // namespace lathe::microsoft
