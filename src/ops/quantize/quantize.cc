#include "ops/quantize/quantize.h"

#include "ops/element_type.h"
#include "schema/downgrade.h"

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

/// One scale for all elements, and a scalar: of what is written as a vector of one element, its element.
bool quantize_10_from_13(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == no_id || rank_of(c.input_type(i)) == 0) continue;
    const Tensor* t = c.constant(inputs[i]);
    if (!t || t->size() != 1) return false;
    inputs[i] = c.add_constant(t->reshaped({}), "scalar");
  }
  c.node().attributes.erase("axis");
  return true;
}

}  // namespace

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
      .output_type(quantized_type)
      .contract({.epsilons = 1});
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
      .output_type(dequantized_type)
      .contract({.epsilons = 2});
  c.add("DynamicQuantizeLinear")
      .version(11, "(x: T1) -> (y: T2, y_scale: float, y_zero_point: T2) [T1: float; T2: uint8]")
      .rule<DynamicQuantizeLinear>()
      .contract({.epsilons = 2});
}

}  // namespace lathe
