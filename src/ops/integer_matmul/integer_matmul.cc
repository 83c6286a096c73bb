#include "ops/integer_matmul/integer_matmul.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Scales of 16 bits as float32, which is what they are multiplied in.
std::vector<ValueId> qlinear_matmul(DecomposeContext& c) {
  std::vector<ValueId> inputs = c.node().inputs;
  for (size_t i : {1, 4, 6}) inputs[i] = widened(c, inputs[i]);
  if (c.opset() < 10) unsupported({}, {});
  if (inputs == c.node().inputs) unsupported("matrices of int8 or uint8", c.input_type(0).str(false));
  return {one(c, "QLinearMatMul", std::move(inputs))};
}

/// Subtracts the zero points in int32: one for all, or for each row of A and each column of B.
std::vector<ValueId> matmul_integer(DecomposeContext& c) {
  if (c.opset() >= 10) unsupported({}, {});
  const auto shifted = [&](size_t i) {
    const ValueId v = cast(c, input(c, i), DataType::int32);
    if (!has(c, i + 2)) return v;
    ValueId zero = cast(c, input(c, i + 2), DataType::int32);
    if (i == 0 && rank_of(c, zero) == 1 && rank_of(c, v) > 1) zero = reshaped(c, zero, {-1, 1});
    return one(c, "Sub", {v, zero});
  };
  const ValueId a = shifted(0), b = shifted(1);
  return {one(c, "MatMul", {a, b})};
}

}  // namespace
}  // namespace decomposition

void declare_integer_matmul(SchemaCatalog& c) {
  c.add("MatMulInteger")
      .version(10,
               "(A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3) [T1: int8 uint8; T2: int8 "
               "uint8; T3: int32]")
      .rule<MatMulInteger>()
      .decompose(decomposition::matmul_integer)
      .tolerance({.exact = true});
  c.add("ConvInteger")
      .version(10,
               "(x: T1, w: T2, x_zero_point?: T1, w_zero_point?: T2) -> (y: T3) {group: int = 1, pads: ints, "
               "strides: ints, dilations: ints, kernel_shape: ints, auto_pad: string = 'NOTSET'} [T1: int8 "
               "uint8; T2: int8 uint8; T3: int32]")
      .rule<ConvInteger>()
      .tolerance({.exact = true});
  c.add("QLinearMatMul")
      .version(10,
               "(a: T1, a_scale: float, a_zero_point: T1, b: T2, b_scale: float, b_zero_point: T2, y_scale: "
               "float, y_zero_point: T3) -> (y: T3) [T1: int8 uint8; T2: int8 uint8; T3: int8 uint8]")
      .version(
          21,
          "(a: T1, a_scale: TS, a_zero_point: T1, b: T2, b_scale: TS, b_zero_point: T2, y_scale: TS, "
          "y_zero_point: T3) -> (y: T3) [TS: float float16 bfloat16; T1: int8 uint8 float8e4m3fn "
          "float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 "
          "float8e5m2fnuz; T3: int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .rule<QLinearMatMul>()
      .decompose(decomposition::qlinear_matmul)
      .tolerance({.exact = true});
  c.add("QLinearConv")
      .version(10,
               "(x: T1, x_scale: float, x_zero_point: T1, w: T2, w_scale: float, w_zero_point: T2, y_scale: "
               "float, y_zero_point: T3, B?: T4) -> (y: T3) {group: int = 1, pads: ints, strides: ints, "
               "dilations: ints, kernel_shape: ints, auto_pad: string = 'NOTSET'} [T1: int8 uint8; T2: int8 "
               "uint8; T3: int8 uint8; T4: int32]")
      .rule<QLinearConv>()
      .tolerance({.exact = true});
}

}  // namespace lathe
