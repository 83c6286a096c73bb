#include "ops/constant/constant.h"

#include "ops/element_type.h"
#include "schema/downgrade.h"
#include "schema/words.h"

namespace lathe {
namespace {

DataType constant_type(const Node& n, std::span<const ValueType>) {
  return decode<Constant>(n.attributes).tensor().type();
}

DataType constant_of_shape_type(const Node& n, std::span<const ValueType>) {
  return decode<ConstantOfShape>(n.attributes).type();
}

DataType eye_like_type(const Node& n, std::span<const ValueType> inputs) {
  const auto dtype = decode<EyeLike>(n.attributes).dtype;
  return dtype ? element_type(*dtype, "dtype") : inputs[0].elem;
}

/// Negative indices meant nothing; the last axis was -1, others were counted from the front.
bool one_hot_9_from_11(RewriteContext& c) {
  const auto indices = constant_ints(c, 0);
  return indices && std::ranges::all_of(*indices, [](int64_t i) { return i >= 0; }) &&
         (c.node().attributes.get<int64_t>("axis", -1) == -1 ||
          count_from_front(c, "axis", rank_of(c.type(c.node().outputs[0]))));
}

}  // namespace

void declare_constant(SchemaCatalog& c) {
  c.add("Constant")
      .version(1, "() -> (output: T) {value: tensor!} [T: @float]")
      .version(9, "() -> (output: T) {value: tensor!} [T: @all]")
      .version(11, "() -> (output: T) {sparse_value: sparse, value: tensor} [T: @all]")
      .version(12,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all]")
      .version(13,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_13]")
      .version(19,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir9]")
      .version(21,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir10]")
      .version(23,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir11]")
      .version(24,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir12]")
      .version(25,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir13]")
      .rule<Constant>()
      .output_type(constant_type)
      .contract({.exact = true});
  c.add("ConstantOfShape")
      .version(9, "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain]")
      .version(20,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 float8e4m3fn "
               "float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .version(21,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .version(23,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1]")
      .version(24,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0]")
      .version(25,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0 uint2 int2]")
      .rule<ConstantOfShape>()
      .output_type(constant_of_shape_type)
      .contract({.exact = true});
  c.add("Range")
      .version(11, "(start: T, limit: T, delta: T) -> (output: T) [T: float double int16 int32 int64]")
      .version(27,
               "(start: T, limit: T, delta: T) -> (output: T) {stash_type: int = 1} [T: @float_13 int16 "
               "int32 int64]")
      .rule<Range>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("EyeLike")
      .version(9, "(input: T1) -> (output: T2) {dtype: int, k: int = 0} [T1: @plain; T2: @plain]")
      .version(22, "(input: T1) -> (output: T2) {dtype: int, k: int = 0} [T1: @plain_13; T2: @plain_13]")
      .rule<EyeLike>()
      .output_type(eye_like_type)
      .contract({.exact = true});
  c.add("OneHot")
      .version(9,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all]")
      .version(11,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all]",
               nullptr, one_hot_9_from_11)
      .version(28,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all_13]")
      .rule<OneHot>()
      .spelled(words::in_wider_types)
      .contract({.exact = true});
}

}  // namespace lathe
