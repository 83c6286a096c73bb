#include "ops/unary/unary.h"

#include <cstring>

#include "schema/downgrade.h"
#include "schema/words.h"

namespace lathe {
namespace {

/// Integers were allowed: their results are those of float32, cut to 0, 1 and -1.
void erf_13_from_9(UpgradeContext& u) {
  const DataType type = u.input_type(0).elem;
  if (!is_integer(type)) return;
  Attributes wide, own;
  wide.set("to", static_cast<int64_t>(DataType::float32));
  own.set("to", static_cast<int64_t>(type));
  u.node().inputs.set(0, u.insert("Cast", {u.node().inputs[0]}, std::move(wide))[0]);
  u.append(0, "Cast", {}, std::move(own));
}

}  // namespace

namespace spelling {
using namespace words;
namespace {

/// In two's complement -1 - x; without a sign, the greatest number less x.
std::vector<ValueId> bitwise_not(SpellContext& c) {
  const ValueId x = input(c, 0);
  const DataType type = elem_of(c, x);
  Tensor ones(type, {});
  if (bits_of(type) < 8) unsaid("integers of 8 bits or more", std::string(name_of(type)));
  std::memset(ones.data(), 0xff, ones.bytes());
  return {one(c, "Sub", {c.add_constant(std::move(ones), "ones"), x})};
}

}  // namespace
}  // namespace spelling

void declare_unary(SchemaCatalog& c) {
  c.add("Abs")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @number]")
      .version(13, "(X: T) -> (Y: T) [T: @number_13]")
      .rule<Abs>()
      .contract({.exact = true});
  c.add("Neg")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: float int32 int8 int16 int64 float16 double]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13 int32 int8 int16 int64]")
      .rule<Neg>()
      .contract({.exact = true});
  c.add("Sign")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @number_13]")
      .rule<Sign>()
      .contract({.exact = true});
  c.add("Ceil")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Ceil>()
      .contract({.exact = true});
  c.add("Floor")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Floor>()
      .contract({.exact = true});
  c.add("Round")
      .version(11, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Round>()
      .spelled(words::in_wider_types)
      .contract({.exact = true});
  c.add("Sqrt")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Sqrt>()
      .contract({.epsilons = 4});
  c.add("Reciprocal")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Reciprocal>()
      .contract({.epsilons = 4});
  c.add("Exp")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Exp>()
      .contract({.epsilons = 4});
  c.add("Log")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Log>()
      .contract({.epsilons = 4});
  c.add("Sin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sin>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Cos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cos>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Tan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tan>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Asin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asin>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Acos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acos>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Atan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atan>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Sinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sinh>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Cosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cosh>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Tanh")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tanh>()
      .contract({.epsilons = 4});
  c.add("Asinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asinh>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Acosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acosh>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Atanh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atanh>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Erf")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]", erf_13_from_9, as_it_is)
      .rule<Erf>()
      .contract({.epsilons = 4});
  c.add("Not").version(1, "(X: T) -> (Y: T) [T: bool]").rule<Not>().contract({.exact = true});
  c.add("BitwiseNot")
      .version(18, "(X: T) -> (Y: T) [T: @integer]")
      .rule<BitwiseNot>()
      .spelled(spelling::bitwise_not)
      .contract({.exact = true});
  c.add("IsNaN")
      .version(9, "(X: T1) -> (Y: T2) [T1: @float; T2: bool]")
      .version(13, "(X: T1) -> (Y: T2) [T1: @float_13; T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) [T1: @float_13 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: "
               "bool]")
      .rule<IsNaN>()
      .spelled(words::in_wider_types)
      .contract({.exact = true});
  c.add("IsInf")
      .version(10,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: float double; "
               "T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: @float_13 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: bool]")
      .rule<IsInf>()
      .spelled(words::in_wider_types)
      .contract({.exact = true});
}

}  // namespace lathe
