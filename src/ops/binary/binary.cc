#include "ops/binary/binary.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Before version 7 the axes of B were aligned with those of A from `axis` on instead of with the last ones.
void align_axis(UpgradeContext& u) {
  const auto axis = u.node().attributes.get_if<int64_t>("axis");
  const bool broadcast = u.node().attributes.get<int64_t>("broadcast", 0) != 0;
  if (axis && broadcast) {
    const auto a = u.input_type(0).shape, b = u.input_type(1).shape;
    if (!a || !b)
      throw Error(Code::node_cannot_convert, "import", "inputs of known rank", "an unknown one",
                  "convert the model to opset 7 or newer");
    const auto rank = static_cast<int64_t>(a->size()), own = static_cast<int64_t>(b->size());
    const int64_t first = *axis < 0 ? *axis + rank : *axis;
    if (first < 0 || first > rank)
      throw Error(Code::node_bad_attribute, "import", "an axis of A", std::to_string(*axis));
    std::vector<int64_t> missing;
    for (int64_t k = own; own > 0 && k < rank - first; ++k) missing.push_back(k);
    if (!missing.empty()) {
      const ValueId axes = u.add_constant(int64_vector(missing), "axes");
      u.node().inputs.set(1, u.insert("Unsqueeze", {u.node().inputs[1], axes}, {})[0]);
    }
  }
  u.node().attributes.erase("axis");
  u.node().attributes.erase("broadcast");
}

/// Floats needed fmod.
bool mod_13_from_28(RewriteContext& c) {
  return c.node().attributes.get<int64_t>("fmod", 0) != 0 || !is_float(c.input_type(0).elem) ||
         c.cannot("in older ones floats need attribute 'fmod' (1)");
}

/// Before version 8 there was no broadcasting, and runtimes only support float32 there.
bool of_one_shape_in_floats(RewriteContext& c) {
  return inputs_of_one_shape(c) && (c.input_type(0).elem != DataType::float64 ||
                                    c.cannot("in older ones runtimes know it for float alone"));
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// The remainder of integers, by operators that older opsets have. It has the sign of the dividend, unless
/// `as_divisor`.
ValueId rest_of(DecomposeContext& c, ValueId a, ValueId b, bool as_divisor) {
  const ValueId rest = one(c, "Sub", {a, one(c, "Mul", {one(c, "Div", {a, b}), b})});
  if (!as_divisor || !is_signed_integer(elem_of(c, a))) return rest;
  const ValueId signs = one(c, "Sub", {is_negative(c, rest), is_negative(c, b)});
  const ValueId apart = one(c, "Mul", {signs, signs});
  const ValueId some = cast(c, cast(c, rest, DataType::boolean), elem_of(c, a));
  return one(c, "Add", {rest, one(c, "Mul", {b, one(c, "Mul", {apart, some})})});
}

/// Before version 28 remainders of floats have the sign of the dividend.
std::vector<ValueId> mod(DecomposeContext& c) {
  const ValueId a = input(c, 0), b = input(c, 1);
  const DataType type = elem_of(c, a);
  const bool by_dividend = c.node().attributes.get<int64_t>("fmod", 0) != 0;
  if (is_integer(type) && bits_of(type) >= 32 && c.opset() < 10) return {rest_of(c, a, b, !by_dividend)};
  if (!is_float(type) || by_dividend) return in_wider_types(c);
  const ValueId rest = one(c, "Mod", {a, b}, with("fmod", int64_t{1})), zero = number(c, 0, type);
  const auto negative = [&](ValueId v) { return one(c, "Less", {v, zero}); };
  const ValueId apart = one(c, "Xor", {negative(rest), negative(b)});
  const ValueId none = one(c, "Not", {one(c, "Equal", {rest, zero})});
  return {one(c, "Where", {one(c, "And", {apart, none}), one(c, "Add", {rest, b}), rest})};
}

/// The bits of an integer as numbers 0 and 1, lowest first, along a new last axis.
ValueId bits(DecomposeContext& c, ValueId v, ValueId places) {
  const ValueId whole = unsqueezed(c, cast(c, v, DataType::uint64), {-1});
  const ValueId shifted = one(c, "BitShift", {whole, places}, with("direction", std::string("RIGHT")));
  return one(c, "Mod", {shifted, number(c, 2, DataType::uint64)});
}

/// Applies `combine` to the bits of both inputs and joins the results.
template <class F>
std::vector<ValueId> bit_by_bit(DecomposeContext& c, F&& combine) {
  const DataType type = elem_of(c, input(c, 0));
  Tensor numbers(DataType::uint64, {bits_of(type)});
  for (int64_t i = 0; i < numbers.size(); ++i) store_int(numbers, i, i);
  const ValueId places = c.add_constant(std::move(numbers), "places");
  const ValueId made = combine(bits(c, input(c, 0), places), bits(c, input(c, 1), places));
  const ValueId at_place = one(c, "BitShift", {made, places}, with("direction", std::string("LEFT")));
  return {cast(c, reduced(c, "ReduceSum", at_place, {-1}, false), type)};
}

std::vector<ValueId> bitwise_and(DecomposeContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) { return one(c, "Mul", {a, b}); });
}
std::vector<ValueId> bitwise_or(DecomposeContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) { return one(c, "Max", {a, b}); });
}
std::vector<ValueId> bitwise_xor(DecomposeContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) {
    return one(c, "Mod", {one(c, "Add", {a, b}), number(c, 2, DataType::uint64)});
  });
}

/// Shifts unsigned integers: multiplies or divides by a power of 2. Shifts by the width or more give 0.
ValueId shifted_by_powers(DecomposeContext& c) {
  const DataType type = elem_of(c, input(c, 0));
  const bool left = c.node().attributes.get<std::string>("direction", "") == "LEFT";
  const int64_t width = bits_of(type);
  Tensor powers(DataType::uint64, {width + 1}), stays(DataType::uint64, {width + 1});
  for (int64_t i = 0; i <= width; ++i) {
    powers.as<uint64_t>()[static_cast<size_t>(i)] = i == width ? (left ? 0 : 1) : uint64_t{1} << i;
    stays.as<uint64_t>()[static_cast<size_t>(i)] = i != width;
  }
  // Steps beyond 63 bits would be negative: they too are too many.
  const ValueId steps = cast(c, input(c, 1), DataType::int64), most = int_scalar(c, width);
  const ValueId far = one(c, "Mul", {is_negative(c, steps), most});
  const ValueId by = at_most(c, one(c, "Add", {at_least_0(c, steps), far}), most);
  const auto at = [&](Tensor t) { return gathered(c, c.add_constant(std::move(t), "powers"), by, 0); };
  const ValueId x = cast(c, input(c, 0), DataType::uint64);
  if (left) return cast(c, one(c, "Mul", {x, at(std::move(powers))}), type);
  return cast(c, one(c, "Mul", {one(c, "Div", {x, at(std::move(powers))}), at(std::move(stays))}), type);
}

/// Shifts signed integers: to the left their bits, to the right the bits of -1 - x if x is negative. Shifts
/// by too much give 0 to the left and leave the sign to the right.
std::vector<ValueId> bit_shift(DecomposeContext& c) {
  const DataType type = elem_of(c, input(c, 0));
  if (!is_signed_integer(type)) {
    if (c.opset() >= 11) unsupported({}, {});
    return {shifted_by_powers(c)};
  }
  const auto direction = c.node().attributes.get<std::string>("direction", "");
  const bool left = direction == "LEFT";
  const int64_t width = bits_of(type);
  const ValueId x = cast(c, input(c, 0), DataType::int64), by = cast(c, input(c, 1), DataType::int64);
  const ValueId zero = int_scalar(c, 0), minus_one = int_scalar(c, -1);
  const auto between = [&](ValueId least, ValueId v, ValueId bound) {
    return one(c, "And", {one(c, "Less", {least, v}), one(c, "Less", {v, bound})});
  };
  const ValueId within = between(minus_one, by, int_scalar(c, width));
  const ValueId steps = one(c, "Where", {within, by, int_scalar(c, width - 1)});
  const auto shifted = [&](ValueId v) {
    const ValueId moved = one(c, "BitShift", {cast(c, v, DataType::uint64), cast(c, steps, DataType::uint64)},
                              with("direction", direction));
    return cast(c, moved, DataType::int64);
  };
  if (left) return {cast(c, one(c, "Where", {within, shifted(x), zero}), type)};
  const ValueId negative = one(c, "Less", {x, zero});
  const auto mirrored = [&](ValueId v) {
    return one(c, "Where", {negative, one(c, "Sub", {minus_one, v}), v});
  };
  return {cast(c, mirrored(shifted(mirrored(x))), type)};
}

/// Whether integer a is less than b. Integers of up to 32 bits are compared in double; of longer ones the
/// upper halves are, or, if these are equal, the lower ones.
ValueId less_whole(DecomposeContext& c, ValueId a, ValueId b) {
  const auto wide = [&](ValueId v) { return cast(c, v, DataType::float64); };
  const DataType type = elem_of(c, a);
  if (bits_of(type) <= 32) return one(c, "Less", {wide(a), wide(b)});
  const ValueId unit = number(c, 4294967296.0, type);
  const auto upper = [&](ValueId v) { return one(c, "Div", {v, unit}); };
  const auto rest = [&](ValueId v, ValueId up) { return one(c, "Sub", {v, one(c, "Mul", {up, unit})}); };
  const ValueId up_a = upper(a), up_b = upper(b);
  const ValueId rest_a = wide(rest(a, up_a)), rest_b = wide(rest(b, up_b));
  const ValueId before = one(c, "Less", {wide(up_a), wide(up_b)}),
                behind = one(c, "Greater", {wide(up_a), wide(up_b)});
  const ValueId by_rest = one(c, "And", {one(c, "Not", {behind}), one(c, "Less", {rest_a, rest_b})});
  return one(c, "Or", {before, by_rest});
}

std::vector<ValueId> less(DecomposeContext& c) {
  if (c.opset() >= 9 || !is_integer(elem_of(c, input(c, 0)))) return in_wider_types(c);
  return {less_whole(c, input(c, 0), input(c, 1))};
}
std::vector<ValueId> greater(DecomposeContext& c) {
  if (c.opset() >= 9 || !is_integer(elem_of(c, input(c, 0)))) return in_wider_types(c);
  return {less_whole(c, input(c, 1), input(c, 0))};
}

/// Compares integers as int64 of the same bits; floats are equal if none is less and both are numbers.
std::vector<ValueId> equal(DecomposeContext& c) {
  const DataType type = elem_of(c, input(c, 0));
  if (c.opset() >= 11) return in_wider_types(c);
  if (is_integer(type))
    return {one(c, "Equal", {cast(c, input(c, 0), DataType::int64), cast(c, input(c, 1), DataType::int64)})};
  if (!is_float(type)) unsupported({}, {});
  const ValueId a = widened(c, input(c, 0)), b = widened(c, input(c, 1));
  const auto is_number = [&](ValueId v) {
    const DataType own = elem_of(c, v);
    return one(c, "Or", {one(c, "Less", {v, number(c, 1, own)}), one(c, "Greater", {v, number(c, 0, own)})});
  };
  const ValueId apart = one(c, "Or", {one(c, "Less", {a, b}), one(c, "Greater", {a, b})});
  const ValueId numbers = one(c, "And", {is_number(a), is_number(b)});
  return {one(c, "And", {one(c, "Not", {apart}), numbers})};
}

/// Before version 8 inputs did not broadcast.
std::vector<ValueId> of_one_shape(DecomposeContext& c) {
  const Node node = c.node();
  const auto& shape = c.type(node.outputs[0]).shape;
  std::vector<int64_t> sizes;
  for (const Dim& d : shape.value_or(SymShape{}))
    if (const auto n = known(d)) sizes.push_back(*n);
  if (!shape || sizes.size() != shape->size())
    unsupported("inputs of one shape, or of known ones", c.input_type(0).str());
  std::vector<ValueId> inputs = node.inputs;
  bool changed = false;
  for (ValueId& v : inputs) {
    if (c.type(v).shape == shape) continue;
    v = one(c, "Expand", {v, ints(c, sizes)});
    changed = true;
  }
  if (!changed) unsupported({}, {});
  return {one(c, node.op, std::move(inputs), node.attributes)};
}

/// Compares integers one after the other.
std::vector<ValueId> extreme(DecomposeContext& c) {
  const Node node = c.node();
  if (!is_integer(elem_of(c, input(c, 0)))) return c.opset() < 8 ? of_one_shape(c) : in_wider_types(c);
  if (c.opset() >= 12) unsupported({}, {});
  ValueId so_far = input(c, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId next = input(c, i), first = node.op == "Max" ? so_far : next;
    so_far = one(c, "Where", {one(c, "Less", {first, node.op == "Max" ? next : so_far}), next, so_far});
  }
  return {so_far};
}

/// Adds one input after the other, because Add broadcasts.
std::vector<ValueId> sum_of_all(DecomposeContext& c) {
  const Node node = c.node();
  const DataType type = elem_of(c, input(c, 0));
  if (c.opset() >= 8) return in_wider_types(c);
  ValueId sum = widened(c, input(c, 0));
  for (size_t i = 1; i < node.inputs.size(); ++i) sum = one(c, "Add", {sum, widened(c, input(c, i))});
  if (node.op == "Mean")
    sum = one(c, "Div", {sum, number(c, static_cast<double>(node.inputs.size()), elem_of(c, sum))});
  return {cast(c, sum, type)};
}

/// Floats to the power of numbers of another type.
std::vector<ValueId> pow(DecomposeContext& c) {
  const DataType type = elem_of(c, input(c, 0)), power = elem_of(c, input(c, 1));
  if (!is_float(type) || type == power || c.opset() >= 12) return in_wider_types(c);
  const DataType own =
      bits_of(power) < 16 || type == DataType::float64 ? computed_in(type) : DataType::float64;
  return {cast(c, one(c, "Pow", {cast(c, input(c, 0), own), cast(c, input(c, 1), own)}), type)};
}

std::vector<ValueId> greater_or_equal(DecomposeContext& c) {
  return {one(c, "Or", {one(c, "Greater", c.node().inputs), one(c, "Equal", c.node().inputs)})};
}
std::vector<ValueId> less_or_equal(DecomposeContext& c) {
  return {one(c, "Or", {one(c, "Less", c.node().inputs), one(c, "Equal", c.node().inputs)})};
}

}  // namespace
}  // namespace decomposition

void declare_binary(SchemaCatalog& c) {
  c.add("Add")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Add>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Sub")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Sub>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Mul")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Mul>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Div")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Div>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Pow")
      .version(1, "(X: T, Y: T) -> (Z: T) {axis: int, broadcast: int = 0} [T: @float]")
      .version(7, "(X: T, Y: T) -> (Z: T) [T: @float]", align_axis)
      .version(12, "(X: T, Y: T1) -> (Z: T) [T: int32 int64 float16 float double; T1: @number]")
      .version(13, "(X: T, Y: T1) -> (Z: T) [T: @float_13 int32 int64; T1: @number]")
      .version(15, "(X: T, Y: T1) -> (Z: T) [T: @float_13 int32 int64; T1: @number_13]")
      .rule<Pow>()
      .decompose(decomposition::pow)
      .tolerance({.epsilons = 4});
  c.add("Mod")
      .version(10, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number]")
      .version(13, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number_13]")
      .version(28, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number_13]", nullptr, mod_13_from_28)
      .rule<Mod>()
      .decompose(decomposition::mod)
      .tolerance({.epsilons = 4});
  c.add("BitShift")
      .version(11, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: uint8 uint16 uint32 uint64]")
      .version(28, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: @integer]")
      .rule<BitShift>()
      .decompose(decomposition::bit_shift)
      .tolerance({.exact = true});
  c.add("BitwiseAnd")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseAnd>()
      .decompose(decomposition::bitwise_and)
      .tolerance({.exact = true});
  c.add("BitwiseOr")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseOr>()
      .decompose(decomposition::bitwise_or)
      .tolerance({.exact = true});
  c.add("BitwiseXor")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseXor>()
      .decompose(decomposition::bitwise_xor)
      .tolerance({.exact = true});
  c.add("And")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<And>()
      .tolerance({.exact = true});
  c.add("Or")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<Or>()
      .tolerance({.exact = true});
  c.add("Xor")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<Xor>()
      .tolerance({.exact = true});
  c.add("Equal")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool int32 int64; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool int32 int64; T1: bool]", align_axis)
      .version(11, "(A: T, B: T) -> (C: T1) [T: @plain; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @plain_13; T1: bool]")
      .version(19, "(A: T, B: T) -> (C: T1) [T: @plain_13 string; T1: bool]")
      .rule<Equal>()
      .decompose(decomposition::equal)
      .tolerance({.exact = true});
  c.add("Greater")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: @float; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: @float; T1: bool]", align_axis)
      .version(9, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<Greater>()
      .decompose(decomposition::greater)
      .tolerance({.exact = true});
  c.add("GreaterOrEqual")
      .version(12, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(16, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<GreaterOrEqual>()
      .decompose(decomposition::greater_or_equal)
      .tolerance({.exact = true});
  c.add("Less")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: @float; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: @float; T1: bool]", align_axis)
      .version(9, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<Less>()
      .decompose(decomposition::less)
      .tolerance({.exact = true});
  c.add("LessOrEqual")
      .version(12, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(16, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<LessOrEqual>()
      .decompose(decomposition::less_or_equal)
      .tolerance({.exact = true});
  c.add("Max")
      .version(1, "(data_0*1: T) -> (max: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (max: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (max: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(12, "(data_0*1: T) -> (max: T) [T: @number]")
      .version(13, "(data_0*1: T) -> (max: T) [T: @number_13]")
      .rule<Max>()
      .decompose(decomposition::extreme)
      .tolerance({.exact = true});
  c.add("Min")
      .version(1, "(data_0*1: T) -> (min: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (min: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (min: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(12, "(data_0*1: T) -> (min: T) [T: @number]")
      .version(13, "(data_0*1: T) -> (min: T) [T: @number_13]")
      .rule<Min>()
      .decompose(decomposition::extreme)
      .tolerance({.exact = true});
  c.add("Mean")
      .version(1, "(data_0*1: T) -> (mean: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (mean: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (mean: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(13, "(data_0*1: T) -> (mean: T) [T: @float_13]")
      .rule<Mean>()
      .decompose(decomposition::sum_of_all)
      .tolerance({.epsilons = 4});
  c.add("Sum")
      .version(1, "(data_0*1: T) -> (sum: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (sum: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (sum: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(13, "(data_0*1: T) -> (sum: T) [T: @float_13]")
      .rule<Sum>()
      .decompose(decomposition::sum_of_all)
      .tolerance({.epsilons = 4});
}

}  // namespace lathe
