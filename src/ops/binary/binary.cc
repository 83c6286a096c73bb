#include "ops/binary/binary.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

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
      u.node().inputs[1] = u.insert("Unsqueeze", {u.node().inputs[1], axes}, {})[0];
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

void declare_binary(SchemaCatalog& c) {
  c.add("Add")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Add>()
      .contract({.epsilons = 4});
  c.add("Sub")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Sub>()
      .contract({.epsilons = 4});
  c.add("Mul")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Mul>()
      .contract({.epsilons = 4});
  c.add("Div")
      .version(1, "(A: T, B: T) -> (C: T) {axis: int, consumed_inputs: ints, broadcast: int = 0} [T: @float]")
      .version(6, "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0} [T: @wide]")
      .version(7, "(A: T, B: T) -> (C: T) [T: @wide]", align_axis)
      .version(13, "(A: T, B: T) -> (C: T) [T: @wide_13]")
      .version(14, "(A: T, B: T) -> (C: T) [T: @number_13]")
      .rule<Div>()
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
      .contract({.epsilons = 4});
  c.add("BitShift")
      .version(11, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: uint8 uint16 uint32 uint64]")
      .version(28, "(X: T, Y: T) -> (Z: T) {direction: string!} [T: @integer]")
      .rule<BitShift>()
      .contract({.exact = true});
  c.add("BitwiseAnd")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseAnd>()
      .contract({.exact = true});
  c.add("BitwiseOr")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseOr>()
      .contract({.exact = true});
  c.add("BitwiseXor")
      .version(18, "(A: T, B: T) -> (C: T) [T: @integer]")
      .rule<BitwiseXor>()
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
