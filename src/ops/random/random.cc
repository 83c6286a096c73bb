#include "ops/random/random.h"

#include "schema/node_builder.h"

namespace lathe {
namespace {

DataType dtype_or(const Node& n, DataType fallback) {
  const int64_t dtype = n.attributes.get<int64_t>("dtype", static_cast<int64_t>(fallback));
  if (dtype <= 0 || dtype >= data_type_count)
    throw Error(Code::node_bad_attribute, "check", "dtype as an element type", std::to_string(dtype));
  return static_cast<DataType>(dtype);
}
DataType dtype_or_float(const Node& n, std::span<const ValueType>) { return dtype_or(n, DataType::float32); }
DataType dtype_or_int32(const Node& n, std::span<const ValueType>) { return dtype_or(n, DataType::int32); }
DataType dtype_or_input(const Node& n, std::span<const ValueType> inputs) {
  return dtype_or(n, inputs[0].is_tensor() ? inputs[0].elem : DataType::float32);
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

std::vector<ValueId> bernoulli(DecomposeContext& c) {
  const ValueId p = widened(c, input(c, 0));
  Attributes a = with("dtype", static_cast<int64_t>(elem_of(c, p)));
  if (const auto* seed = c.node().attributes.get_if<float>("seed")) a.set("seed", *seed);
  const ValueId hit = one(c, "Less", {one(c, "RandomUniformLike", {p}, std::move(a)), p});
  return {cast(c, hit, elem_of(c, c.node().outputs[0]))};
}

}  // namespace
}  // namespace decomposition

void declare_random(SchemaCatalog& c) {
  c.add("RandomUniform")
      .version(1,
               "() -> (output: T) {shape: ints!, dtype: int = 1, seed: float, high: float = 1, low: float = "
               "0} [T: @float]")
      .version(22,
               "() -> (output: T) {shape: ints!, dtype: int = 1, seed: float, high: float = 1, low: float = "
               "0} [T: @float_13]")
      .rule<RandomShaped>()
      .output_type(dtype_or_float)
      .tolerance({.random = true})
      .nondeterministic();
  c.add("RandomNormal")
      .version(1,
               "() -> (output: T) {shape: ints!, dtype: int = 1, seed: float, scale: float = 1, mean: float "
               "= 0} [T: @float]")
      .version(22,
               "() -> (output: T) {shape: ints!, dtype: int = 1, seed: float, scale: float = 1, mean: float "
               "= 0} [T: @float_13]")
      .rule<RandomShaped>()
      .output_type(dtype_or_float)
      .tolerance({.random = true})
      .nondeterministic();
  c.add("RandomUniformLike")
      .version(1,
               "(input: T1) -> (output: T2) {dtype: int, seed: float, high: float = 1, low: float = 0} [T1: "
               "@all; T2: @float]")
      .version(22,
               "(input: T1) -> (output: T2) {dtype: int, seed: float, high: float = 1, low: float = 0} [T1: "
               "@all_13; T2: @float_13]")
      .rule<RandomLike>()
      .output_type(dtype_or_input)
      .tolerance({.random = true})
      .nondeterministic();
  c.add("RandomNormalLike")
      .version(1,
               "(input: T1) -> (output: T2) {dtype: int, seed: float, scale: float = 1, mean: float = 0} "
               "[T1: @all; T2: @float]")
      .version(22,
               "(input: T1) -> (output: T2) {dtype: int, seed: float, scale: float = 1, mean: float = 0} "
               "[T1: @all_13; T2: @float_13]")
      .rule<RandomLike>()
      .output_type(dtype_or_input)
      .tolerance({.random = true})
      .nondeterministic();
  c.add("Bernoulli")
      .version(15, "(input: T1) -> (output: T2) {dtype: int, seed: float} [T1: @float; T2: @plain_13]")
      .version(22, "(input: T1) -> (output: T2) {dtype: int, seed: float} [T1: @float_13; T2: @plain_13]")
      .rule<RandomLike>()
      .decompose(decomposition::bernoulli)
      .output_type(dtype_or_input)
      .tolerance({.random = true})
      .nondeterministic();
  c.add("Multinomial")
      .version(7,
               "(input: T1) -> (output: T2) {dtype: int = 6, seed: float, sample_size: int = 1} [T1: @float; "
               "T2: @index]")
      .version(22,
               "(input: T1) -> (output: T2) {dtype: int = 6, seed: float, sample_size: int = 1} [T1: "
               "@float_13; T2: @index]")
      .rule<Multinomial>()
      .output_type(dtype_or_int32)
      .tolerance({.random = true})
      .nondeterministic();
}

}  // namespace lathe
