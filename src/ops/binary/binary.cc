#include "ops/binary/binary.h"

#include "schema/downgrade.h"
#include "schema/words.h"

namespace lathe {
namespace {

/// Before version 7, B lined up with the axes of A from `axis` on instead of with the last ones.
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
  return c.node().attributes.get<int64_t>("fmod", 0) != 0 || !is_float(c.input_type(0).elem);
}

/// Before version 8 there was no broadcasting, and runtimes know no other type than float32 there.
bool of_one_shape_in_floats(RewriteContext& c) {
  return inputs_of_one_shape(c) && c.input_type(0).elem != DataType::float64;
}

}  // namespace

namespace spelling {
using namespace words;
namespace {

/// Before version 28 floats had the sign of the dividend.
std::vector<ValueId> mod(SpellContext& c) {
  const ValueId a = input(c, 0), b = input(c, 1);
  const DataType type = elem_of(c, a);
  if (!is_float(type) || c.node().attributes.get<int64_t>("fmod", 0) != 0) return in_wider_types(c);
  const ValueId rest = one(c, "Mod", {a, b}, with("fmod", int64_t{1})), zero = number(c, 0, type);
  const auto negative = [&](ValueId v) { return one(c, "Less", {v, zero}); };
  const ValueId apart = one(c, "Xor", {negative(rest), negative(b)});
  const ValueId none = one(c, "Not", {one(c, "Equal", {rest, zero})});
  return {one(c, "Where", {one(c, "And", {apart, none}), one(c, "Add", {rest, b}), rest})};
}

/// The bits of an integer as numbers 0 and 1, lowest first, along a new last axis.
ValueId bits(SpellContext& c, ValueId v, ValueId places) {
  const ValueId whole = unsqueezed(c, cast(c, v, DataType::uint64), {-1});
  const ValueId shifted = one(c, "BitShift", {whole, places}, with("direction", std::string("RIGHT")));
  return one(c, "Mod", {shifted, number(c, 2, DataType::uint64)});
}

/// What `combine` makes of the bits of both inputs.
template <class F>
std::vector<ValueId> bit_by_bit(SpellContext& c, F&& combine) {
  const DataType type = elem_of(c, input(c, 0));
  Tensor numbers(DataType::uint64, {bits_of(type)});
  for (int64_t i = 0; i < numbers.size(); ++i) store_int(numbers, i, i);
  const ValueId places = c.add_constant(std::move(numbers), "places");
  const ValueId made = combine(bits(c, input(c, 0), places), bits(c, input(c, 1), places));
  const ValueId at_place = one(c, "BitShift", {made, places}, with("direction", std::string("LEFT")));
  return {cast(c, reduced(c, "ReduceSum", at_place, {-1}, false), type)};
}

std::vector<ValueId> bitwise_and(SpellContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) { return one(c, "Mul", {a, b}); });
}
std::vector<ValueId> bitwise_or(SpellContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) { return one(c, "Max", {a, b}); });
}
std::vector<ValueId> bitwise_xor(SpellContext& c) {
  return bit_by_bit(c, [&](ValueId a, ValueId b) {
    return one(c, "Mod", {one(c, "Add", {a, b}), number(c, 2, DataType::uint64)});
  });
}

/// Of integers with a sign: to the left their bits are moved, to the right those of -1 - x where it is
/// negative. Shifts by too much leave what extends the sign.
std::vector<ValueId> bit_shift(SpellContext& c) {
  const DataType type = elem_of(c, input(c, 0));
  if (!is_signed_integer(type)) unsaid("integers of 8 bits or more", std::string(name_of(type)));
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
  const auto turned = [&](ValueId v) {
    return one(c, "Where", {negative, one(c, "Sub", {minus_one, v}), v});
  };
  return {cast(c, turned(shifted(turned(x))), type)};
}

std::vector<ValueId> greater_or_equal(SpellContext& c) {
  return {one(c, "Or", {one(c, "Greater", c.node().inputs), one(c, "Equal", c.node().inputs)})};
}
std::vector<ValueId> less_or_equal(SpellContext& c) {
  return {one(c, "Or", {one(c, "Less", c.node().inputs), one(c, "Equal", c.node().inputs)})};
}

}  // namespace
}  // namespace spelling

void declare_binary(SchemaCatalog& c) {
  c.add("Add")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Add>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Sub")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Sub>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Mul")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Mul>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Div")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Div>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4});
  c.add("Pow")
      .version(1, "(X: T, Y: T) -> (Z: T) {axis: int, broadcast: int = 0} [T: @float]")
      .version(7, "(X: T, Y: T) -> (Z: T) [T: @float]", align_axis)
      .version(12, "(X: T, Y: T1) -> (Z: T) [T: int32 int64 float16 float double; T1: @number]")
      .version(13, "(X: T, Y: T1) -> (Z: T) [T: @float_13 int32 int64; T1: @number]")
      .version(15, "(X: T, Y: T1) -> (Z: T) [T: @float_13 int32 int64; T1: @number_13]")
      .rule<Pow>()
      .contract({.epsilons = 4});
  c.add("Mod")
      .version(10, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number]")
      .version(13, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number_13]")
      .version(28, "(A: T, B: T) -> (C: T) {fmod: int = 0} [T: @number_13]", nullptr, mod_13_from_28)
      .rule<Mod>()
      .spelled(spelling::mod)
      .contract({.epsilons = 4});
  c.add("BitShift")
      .version(11, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: uint8 uint16 uint32 uint64]")
      .version(28, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: @integer]")
      .rule<BitShift>()
      .spelled(spelling::bit_shift)
      .contract({.exact = true});
  c.add("BitwiseAnd")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseAnd>()
      .spelled(spelling::bitwise_and)
      .contract({.exact = true});
  c.add("BitwiseOr")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseOr>()
      .spelled(spelling::bitwise_or)
      .contract({.exact = true});
  c.add("BitwiseXor")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseXor>()
      .spelled(spelling::bitwise_xor)
      .contract({.exact = true});
  c.add("And")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<And>()
      .contract({.exact = true});
  c.add("Or")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<Or>()
      .contract({.exact = true});
  c.add("Xor")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool; T1: bool]", align_axis)
      .rule<Xor>()
      .contract({.exact = true});
  c.add("Equal")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: bool int32 int64; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: bool int32 int64; T1: bool]", align_axis)
      .version(11, "(A: T, B: T) -> (C: T1) [T: @plain; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @plain_13; T1: bool]")
      .version(19, "(A: T, B: T) -> (C: T1) [T: @plain_13 string; T1: bool]")
      .rule<Equal>()
      .contract({.exact = true});
  c.add("Greater")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: @float; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: @float; T1: bool]", align_axis)
      .version(9, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<Greater>()
      .contract({.exact = true});
  c.add("GreaterOrEqual")
      .version(12, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(16, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<GreaterOrEqual>()
      .spelled(spelling::greater_or_equal)
      .contract({.exact = true});
  c.add("Less")
      .version(1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} [T: @float; T1: bool]")
      .version(7, "(A: T, B: T) -> (C: T1) [T: @float; T1: bool]", align_axis)
      .version(9, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(13, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<Less>()
      .contract({.exact = true});
  c.add("LessOrEqual")
      .version(12, "(A: T, B: T) -> (C: T1) [T: @number; T1: bool]")
      .version(16, "(A: T, B: T) -> (C: T1) [T: @number_13; T1: bool]")
      .rule<LessOrEqual>()
      .spelled(spelling::less_or_equal)
      .contract({.exact = true});
  c.add("Max")
      .version(1, "(data_0*1: T) -> (max: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (max: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (max: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(12, "(data_0*1: T) -> (max: T) [T: @number]")
      .version(13, "(data_0*1: T) -> (max: T) [T: @number_13]")
      .rule<Max>()
      .contract({.exact = true});
  c.add("Min")
      .version(1, "(data_0*1: T) -> (min: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (min: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (min: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(12, "(data_0*1: T) -> (min: T) [T: @number]")
      .version(13, "(data_0*1: T) -> (min: T) [T: @number_13]")
      .rule<Min>()
      .contract({.exact = true});
  c.add("Mean")
      .version(1, "(data_0*1: T) -> (mean: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (mean: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (mean: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(13, "(data_0*1: T) -> (mean: T) [T: @float_13]")
      .rule<Mean>()
      .contract({.epsilons = 4});
  c.add("Sum")
      .version(1, "(data_0*1: T) -> (sum: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(data_0*1: T) -> (sum: T) [T: @float]")
      .version(8, "(data_0*1: T) -> (sum: T) [T: @float]", nullptr, of_one_shape_in_floats)
      .version(13, "(data_0*1: T) -> (sum: T) [T: @float_13]")
      .rule<Sum>()
      .contract({.epsilons = 4});
}

}  // namespace lathe
