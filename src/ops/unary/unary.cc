#include "ops/unary/unary.h"

#include <cstring>
#include <limits>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

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

namespace decomposition {
using namespace node_builder;
namespace {

/// -1 - x in two's complement; for unsigned integers, the greatest number less x.
std::vector<ValueId> bitwise_not(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  const DataType type = elem_of(c, x);
  Tensor ones(type, {});
  if (bits_of(type) < 8) unsupported("integers of 8 bits or more", std::string(name_of(type)));
  std::memset(ones.data(), 0xff, ones.bytes());
  return {one(c, "Sub", {c.add_constant(std::move(ones), "ones"), x})};
}

/// The sign, by comparisons with 0.
std::vector<ValueId> sign(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const ValueId x = input(c, 0);
  const DataType type = elem_of(c, x), wide = is_integer(type) ? DataType::int64 : computed_in(type);
  const ValueId seen = is_integer(type) ? cast(c, x, DataType::float64) : x;
  const ValueId zero = number(c, 0, elem_of(c, seen));
  const auto side = [&](const char* op) { return cast(c, one(c, op, {seen, zero}), wide); };
  ValueId sides = one(c, "Sub", {side("Greater"), side("Less")});
  if (is_float(type)) {  // NaN stays NaN
    const ValueId near = one(c, "Clip", {cast(c, x, wide), number(c, -1, wide), number(c, 1, wide)});
    sides = one(c, "Add", {sides, times(c, near, 0)});
  }
  return {cast(c, sides, type)};
}

/// Rounds down to an integer, and adds 1 if the rest is more than a half, or a half and the integer odd.
std::vector<ValueId> round(DecomposeContext& c) {
  if (c.opset() >= 11) return in_wider_types(c);
  const ValueId given = input(c, 0), x = widened(c, given);
  const DataType type = elem_of(c, x);
  const ValueId whole = one(c, "Floor", {x}), left = one(c, "Sub", {x, whole}), half = number(c, 0.5, type);
  const ValueId pairs = one(c, "Floor", {times(c, whole, 0.5)});
  const ValueId odd = one(c, "Greater", {one(c, "Sub", {whole, times(c, pairs, 2)}), half});
  const ValueId least = one(c, "Not", {one(c, "Less", {left, half})});
  const ValueId up = one(c, "Or", {one(c, "Greater", {left, half}), one(c, "And", {least, odd})});
  return {cast(c, one(c, "Add", {whole, cast(c, up, type)}), elem_of(c, given))};
}

/// NaN is neither less than 1 nor greater than 0.
std::vector<ValueId> is_nan(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const ValueId x = input(c, 0);
  const DataType type = elem_of(c, x);
  const ValueId below = one(c, "Less", {x, number(c, 1, type)}),
                above = one(c, "Greater", {x, number(c, 0, type)});
  return {one(c, "Not", {one(c, "Or", {below, above})})};
}

/// Infinite numbers are beyond all finite ones.
std::vector<ValueId> is_inf(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  const DataType type = elem_of(c, x);
  if (c.opset() >= 10 || type == DataType::float16) return in_wider_types(c);
  const auto op = decode<IsInf>(c.node().attributes);
  const double most = type == DataType::float64 ? std::numeric_limits<double>::max()
                                                : static_cast<double>(std::numeric_limits<float>::max());
  const ValueId above = one(c, "Greater", {x, number(c, most, type)}),
                below = one(c, "Less", {x, number(c, -most, type)});
  if (op.detect_positive && op.detect_negative) return {one(c, "Or", {above, below})};
  if (op.detect_positive || op.detect_negative) return {op.detect_positive ? above : below};
  return {one(c, "And", {above, below})};
}

/// Computes in double, so that a difference of two like numbers keeps all digits of a float.
ValueId cosh_of(DecomposeContext& c, ValueId x) {
  return times(c, one(c, "Add", {one(c, "Exp", {x}), one(c, "Exp", {one(c, "Neg", {x})})}), 0.5);
}
std::vector<ValueId> cosh(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  return {cast(c, cosh_of(c, cast(c, input(c, 0), DataType::float64)), elem_of(c, input(c, 0)))};
}
std::vector<ValueId> sinh(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const ValueId x = cast(c, input(c, 0), DataType::float64);
  return {cast(c, one(c, "Mul", {one(c, "Tanh", {x}), cosh_of(c, x)}), elem_of(c, input(c, 0)))};
}

}  // namespace
}  // namespace decomposition

void declare_unary(SchemaCatalog& c) {
  c.add("Abs")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @number]")
      .version(13, "(X: T) -> (Y: T) [T: @number_13]")
      .rule<Abs>()
      .tolerance({.exact = true});
  c.add("Neg")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: float int32 int8 int16 int64 float16 double]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13 int32 int8 int16 int64]")
      .rule<Neg>()
      .tolerance({.exact = true});
  c.add("Sign")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @number_13]")
      .rule<Sign>()
      .decompose(decomposition::sign)
      .tolerance({.exact = true});
  c.add("Ceil")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Ceil>()
      .tolerance({.exact = true});
  c.add("Floor")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Floor>()
      .tolerance({.exact = true});
  c.add("Round")
      .version(11, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Round>()
      .decompose(decomposition::round)
      .tolerance({.exact = true});
  c.add("Sqrt")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Sqrt>()
      .tolerance({.epsilons = 4});
  c.add("Reciprocal")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Reciprocal>()
      .tolerance({.epsilons = 4});
  c.add("Exp")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Exp>()
      .tolerance({.epsilons = 4});
  c.add("Log")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Log>()
      .tolerance({.epsilons = 4});
  c.add("Sin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sin>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Cos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cos>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Tan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tan>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Asin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asin>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Acos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acos>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Atan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atan>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Sinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sinh>()
      .decompose(decomposition::sinh)
      .tolerance({.epsilons = 4});
  c.add("Cosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cosh>()
      .decompose(decomposition::cosh)
      .tolerance({.epsilons = 4});
  c.add("Tanh")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tanh>()
      .tolerance({.epsilons = 4});
  c.add("Asinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asinh>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Acosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acosh>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Atanh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atanh>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Erf")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]", erf_13_from_9, as_it_is)
      .rule<Erf>()
      .tolerance({.epsilons = 4});
  c.add("Not").version(1, "(X: T) -> (Y: T) [T: bool]").rule<Not>().tolerance({.exact = true});
  c.add("BitwiseNot")
      .version(18, "(X: T) -> (Y: T) [T: @integer]")
      .rule<BitwiseNot>()
      .decompose(decomposition::bitwise_not)
      .tolerance({.exact = true});
  c.add("IsNaN")
      .version(9, "(X: T1) -> (Y: T2) [T1: @float; T2: bool]")
      .version(13, "(X: T1) -> (Y: T2) [T1: @float_13; T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) [T1: @float_13 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: "
               "bool]")
      .rule<IsNaN>()
      .decompose(decomposition::is_nan)
      .tolerance({.exact = true});
  c.add("IsInf")
      .version(10,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: float double; "
               "T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: @float_13 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: bool]")
      .rule<IsInf>()
      .decompose(decomposition::is_inf)
      .tolerance({.exact = true});
}

}  // namespace lathe
