#include "ops/quantize/quantize.h"

#include "ops/element_type.h"
#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

DataType quantized_type(const Node& n, std::span<const ValueType> in) {
  const int64_t wanted = n.attributes.get<int64_t>("output_dtype", 0);
  const DataType zero = in.size() > 2 ? in[2].elem : DataType::undefined;
  if (wanted == 0) return in.size() > 2 && in[2].known() ? zero : DataType::uint8;
  const DataType type = element_type(wanted, "output_dtype");
  if (is_integer(type) ? bits_of(type) > 16
                       : !is_float(type) || bits_of(type) > 8 || type == DataType::float8e8m0)
    throw Error(Code::node_bad_attribute, "infer", "output_dtype to be a type to quantize to",
                std::string(name_of(type)));
  if (zero != DataType::undefined && zero != type)
    throw Error(Code::node_bad_attribute, "infer",
                "output_dtype to be the type of y_zero_point, " + std::string(name_of(zero)),
                std::string(name_of(type)), "leave output_dtype out");
  return type;
}

DataType dequantized_type(const Node& n, std::span<const ValueType> in) {
  const int64_t wanted = n.attributes.get<int64_t>("output_dtype", 0);
  if (wanted != 0) {
    const DataType type = element_type(wanted, "output_dtype");
    if (type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16) return type;
    throw Error(Code::node_bad_attribute, "infer", "output_dtype float, float16 or bfloat16",
                std::string(name_of(type)));
  }
  if (in[1].elem == DataType::float8e8m0)
    throw Error(Code::node_bad_attribute, "infer", "output_dtype, as the scale is float8e8m0", "none");
  return in[1].elem;
}

/// Older versions have one scale for all elements, and it is a scalar: a vector of one element is reshaped.
bool quantize_10_from_13(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == no_id || rank_of(c.input_type(i)) == 0) continue;
    const Tensor* t = c.constant(inputs[i]);
    if (!t || t->size() != 1) return c.cannot("in older ones scale and zero point have to be scalars");
    inputs.set(i, c.add_constant(t->reshaped({}), "scalar"));
  }
  c.node().attributes.erase("axis");
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Integers that older opsets have, though not always to quantize to.
bool is_plain_integer(DataType t) {
  return t == DataType::int8 || t == DataType::uint8 || t == DataType::int16 || t == DataType::uint16 ||
         t == DataType::int32;
}

/// A scale or zero point (input `i`) as it broadcasts to the data.
ValueId for_each_element(DecomposeContext& c, const QuantizationParams& op, size_t i) {
  const ValueId x = input(c, 0), v = input(c, i);
  const int64_t rank = rank_of(c, v);
  if (rank == 0 || (rank == 1 && known(size_of(c, v, 0)) == 1)) return rank == 0 ? v : scalar_of(c, v);
  const int64_t axis = from_front(c, x, op.axis);
  if (op.block_size > 0) {
    const ValueId places = count_up(c, length(c, x, axis));
    return one(c, "Gather", {v, one(c, "Div", {places, int_scalar(c, op.block_size)})}, with("axis", axis));
  }
  std::vector<int64_t> shape(static_cast<size_t>(rank_of(c, x) - axis), 1);
  shape[0] = -1;
  return reshaped(c, v, shape);
}

/// round(x / scale) + zero point, within the type's range. NaN gives the zero point.
std::vector<ValueId> quantize(DecomposeContext& c) {
  const auto op = decode<QuantizeLinear>(c.node().attributes);
  const DataType type = elem_of(c, c.node().outputs[0]);
  if (!is_plain_integer(type)) unsupported("integers of 8 or 16 bits", std::string(name_of(type)));
  const ValueId scale = for_each_element(c, op, 1);
  const auto precision = op.precision != 0 ? static_cast<DataType>(op.precision) : elem_of(c, scale);
  if (!is_float(precision) || bits_of(precision) < 16)
    unsupported("scales of 16 bits or more", std::string(name_of(precision)));
  const ValueId quotient = one(c, "Div", {cast(c, input(c, 0), precision), cast(c, scale, precision)});
  const ValueId whole = one(c, "Round", {cast(c, quotient, DataType::float32)});
  const ValueId zero = number(c, 0, DataType::float32);
  ValueId sum = one(c, "Where", {one(c, "IsNaN", {whole}), zero, whole});
  if (has(c, 2)) sum = one(c, "Add", {sum, cast(c, for_each_element(c, op, 2), DataType::float32)});
  const int bits = bits_of(type);
  const double low = is_signed_integer(type) ? -std::exp2(bits - 1) : 0;
  const ValueId least = number(c, low, DataType::float32);
  const ValueId most = number(c, low + std::exp2(bits) - 1, DataType::float32);
  return {cast(c, one(c, "Clip", {sum, least, most}), type)};
}

std::vector<ValueId> dequantize(DecomposeContext& c) {
  const auto op = decode<DequantizeLinear>(c.node().attributes);
  const DataType type = elem_of(c, input(c, 0));
  if (!is_plain_integer(type)) unsupported("integers of 8, 16 or 32 bits", std::string(name_of(type)));
  ValueId x = input(c, 0);
  if (has(c, 2)) {
    x = one(c, "Sub", {cast(c, x, DataType::int64), cast(c, for_each_element(c, op, 2), DataType::int64)});
  }
  const ValueId scale = widened(c, for_each_element(c, op, 1));
  const ValueId y = one(c, "Mul", {cast(c, x, DataType::float32), cast(c, scale, DataType::float32)});
  return {cast(c, y, elem_of(c, c.node().outputs[0]))};
}

}  // namespace
}  // namespace decomposition

void declare_quantize(SchemaCatalog& c) {
  c.add("QuantizeLinear")
      .version(10, "(x: T1, y_scale: float, y_zero_point?: T2) -> (y: T2) [T1: float int32; T2: int8 uint8]")
      .version(13,
               "(x: T1, y_scale: float, y_zero_point?: T2) -> (y: T2) {axis: int = 1} [T1: float int32; T2: "
               "int8 uint8]",
               nullptr, quantize_10_from_13)
      .version(
          19,
          "(x: T1, y_scale: T1, y_zero_point?: T2) -> (y: T2) {saturate: int = 1, axis: int = 1} [T1: float "
          "float16 bfloat16 int32; T2: int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .version(21,
               "(x: T1, y_scale: T1, y_zero_point?: T2) -> (y: T2) {output_dtype: int = 0, block_size: int = "
               "0, saturate: int = 1, axis: int = 1} [T1: float float16 bfloat16 int32; T2: int8 uint8 int16 "
               "uint16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4]")
      .version(23,
               "(x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) {precision: int = 0, output_dtype: int = "
               "0, block_size: int = 0, saturate: int = 1, axis: int = 1} [T1: float float16 bfloat16 int32; "
               "T2: float float16 bfloat16 int32; T3: int8 uint8 int16 uint16 float8e4m3fn float8e4m3fnuz "
               "float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1]")
      .version(24,
               "(x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) {precision: int = 0, output_dtype: int = "
               "0, block_size: int = 0, saturate: int = 1, axis: int = 1} [T1: float float16 bfloat16 int32; "
               "T2: float float16 bfloat16 int32 float8e8m0; T3: int8 uint8 int16 uint16 float8e4m3fn "
               "float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1]")
      .version(25,
               "(x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) {precision: int = 0, output_dtype: int = "
               "0, block_size: int = 0, saturate: int = 1, axis: int = 1} [T1: float float16 bfloat16 int32; "
               "T2: float float16 bfloat16 int32 float8e8m0; T3: int8 uint8 int16 uint16 float8e4m3fn "
               "float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 uint2 int2]")
      .version(
          28,
          "(x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) {precision: int = 0, output_dtype: int = 0, "
          "block_size: int = 0, saturate: int = 1, axis: int = 1} [T1: float float16 bfloat16 int32; T2: "
          "float float16 bfloat16 int32 float8e8m0; T3: int8 uint8 int16 uint16 float8e4m3fn float8e4m3fnuz "
          "float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 uint2 int2 float6e2m3 float6e3m2]")
      .rule<QuantizeLinear>()
      .decompose(decomposition::quantize)
      .output_type(quantized_type)
      .tolerance({.epsilons = 1});
  c.add("DequantizeLinear")
      .version(10, "(x: T, x_scale: float, x_zero_point?: T) -> (y: float) [T: int8 uint8 int32]")
      .version(13,
               "(x: T, x_scale: float, x_zero_point?: T) -> (y: float) {axis: int = 1} [T: int8 uint8 int32]",
               nullptr, quantize_10_from_13)
      .version(19,
               "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) {axis: int = 1} [T1: int8 uint8 int32 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: float float16 bfloat16]")
      .version(21,
               "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) {block_size: int = 0, axis: int = 1} [T1: "
               "int8 uint8 int16 uint16 int32 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 "
               "int4; T2: float float16 bfloat16]")
      .version(
          23,
          "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T3) {output_dtype: int = 0, block_size: int = 0, "
          "axis: int = 1} [T1: int8 uint8 int16 uint16 int32 float8e4m3fn float8e4m3fnuz float8e5m2 "
          "float8e5m2fnuz uint4 int4 float4e2m1; T2: float float16 bfloat16; T3: float float16 bfloat16]")
      .version(24,
               "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T3) {output_dtype: int = 0, block_size: int = "
               "0, axis: int = 1} [T1: int8 uint8 int16 uint16 int32 float8e4m3fn float8e4m3fnuz float8e5m2 "
               "float8e5m2fnuz uint4 int4 float4e2m1; T2: float float16 bfloat16 float8e8m0; T3: float "
               "float16 bfloat16]")
      .version(25,
               "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T3) {output_dtype: int = 0, block_size: int = "
               "0, axis: int = 1} [T1: int8 uint8 int16 uint16 int32 float8e4m3fn float8e4m3fnuz float8e5m2 "
               "float8e5m2fnuz uint4 int4 float4e2m1 uint2 int2; T2: float float16 bfloat16 float8e8m0; T3: "
               "float float16 bfloat16]")
      .version(28,
               "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T3) {output_dtype: int = 0, block_size: int = "
               "0, axis: int = 1} [T1: int8 uint8 int16 uint16 int32 float8e4m3fn float8e4m3fnuz float8e5m2 "
               "float8e5m2fnuz uint4 int4 float4e2m1 uint2 int2 float6e2m3 float6e3m2; T2: float float16 "
               "bfloat16 float8e8m0; T3: float float16 bfloat16]")
      .rule<DequantizeLinear>()
      .decompose(decomposition::dequantize)
      .output_type(dequantized_type)
      .tolerance({.epsilons = 2});
  c.add("DynamicQuantizeLinear")
      .version(11, "(x: T1) -> (y: T2, y_scale: float, y_zero_point: T2) [T1: float; T2: uint8]")
      .rule<DynamicQuantizeLinear>()
      .tolerance({.epsilons = 2});
}

}  // namespace lathe
