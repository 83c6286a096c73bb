#include "ops/pad/pad.h"

#include "schema/downgrade.h"
#include "schema/words.h"

namespace lathe {
namespace {

void pad_2_from_1(UpgradeContext& u) { u.node().attributes.rename("paddings", "pads"); }

void pad_11_from_2(UpgradeContext& u) {
  ints_to_input(u, "pads", 1);
  const auto value = u.node().attributes.get<float>("value", 0);
  u.node().attributes.erase("value");
  if (value == 0) return;
  const DataType type = u.input_type(0).elem;
  Tensor t(type == DataType::undefined ? DataType::float32 : type, {});
  store_double(t, 0, value);
  set_input(u, 2, u.add_constant(std::move(t), "value"));
}

bool pad_2_from_11(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  if (inputs.size() > 2 && inputs[2] != no_id) {
    const auto value = constant_float(c, 2);
    if (!value) return false;
    if (*value != 0) c.node().attributes.set("value", *value);
  }
  inputs.resize(std::min<size_t>(inputs.size(), 2));
  return input_to_ints(c, 1, "pads");
}

/// Pads of some axes are pads of all.
bool pad_13_from_18(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  if (inputs.size() < 4 || inputs[3] == no_id) return true;
  const auto axes = constant_ints(c, 3), pads = constant_ints(c, 1);
  const auto known_rank = rank_of(c.input_type(0));
  if (!axes || !pads || !known_rank || pads->size() != 2 * axes->size()) return false;
  const auto rank = static_cast<int64_t>(*known_rank);
  std::vector<int64_t> all(2 * *known_rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return false;
    all[static_cast<size_t>(axis)] = (*pads)[i];
    all[static_cast<size_t>(axis + rank)] = (*pads)[i + axes->size()];
  }
  inputs.set(1, c.add_constant(int64_vector(all), "pads"));
  inputs.resize(3);
  return true;
}

bool pad_18_from_19(RewriteContext& c) {
  return c.node().attributes.get<std::string>("mode", "constant") != "wrap";
}

}  // namespace

namespace spelling {
using namespace words;
namespace {

/// Pads of some axes as pads of all, axes and pads as they come.
ValueId pads_of_all(SpellContext& c, int64_t rank) {
  if (!has(c, 3)) return input(c, 1);
  const ValueId ranks = ints(c, {rank});
  const ValueId axes = one(c, "Mod", {one(c, "Add", {cast(c, input(c, 3), DataType::int64), ranks}), ranks});
  const ValueId places = concat(c, {axes, one(c, "Add", {axes, ranks})}, 0);
  const ValueId none = ints(c, std::vector<int64_t>(static_cast<size_t>(2 * rank), 0));
  return one(c, "ScatterElements", {none, places, input(c, 1)});
}

/// What negative pads leave of an axis over and over, from `before` ahead of its first element to `after`
/// behind its last.
ValueId wrapped(SpellContext& c, ValueId x, int64_t axis, ValueId before, ValueId after) {
  const ValueId none = int_scalar(c, 0);
  const auto cut = [&](ValueId v) { return one(c, "Max", {one(c, "Neg", {v}), none}); };
  const auto added = [&](ValueId v) { return one(c, "Max", {v, none}); };
  const ValueId first = cut(before);
  const ValueId left = one(c, "Sub", {length(c, x, axis), one(c, "Add", {first, cut(after)})});
  const ValueId start = one(c, "Neg", {added(before)}), end = one(c, "Add", {left, added(after)});
  const ValueId places = one(c, "Range", {scalar_of(c, start), scalar_of(c, end), int_scalar(c, 1)});
  const ValueId taken = one(c, "Add", {one(c, "Mod", {places, left}), first});
  return one(c, "Gather", {x, taken}, with("axis", axis));
}

std::vector<ValueId> pad(SpellContext& c) {
  const Node node = c.node();
  const bool wraps = node.attributes.get<std::string>("mode", "constant") == "wrap";
  ValueId x = input(c, 0);
  if (!wraps && !has(c, 3)) unsaid("tensors of other types", c.type(x).str(false));
  const int64_t rank = rank_of(c, x);
  const ValueId pads = pads_of_all(c, rank);
  if (!wraps) return {one(c, "Pad", {x, pads, input(c, 2)}, node.attributes)};
  const auto at = [&](int64_t i) { return sliced(c, pads, ints(c, {i}), ints(c, {i + 1}), 0); };
  for (int64_t axis = 0; axis < rank; ++axis) x = wrapped(c, x, axis, at(axis), at(axis + rank));
  return {x};
}

}  // namespace
}  // namespace spelling

void declare_pad(SchemaCatalog& c) {
  c.add("Pad")
      .version(1,
               "(data: T) -> (output: T) {value: float = 0, mode: string = 'constant', paddings: ints!} [T: "
               "@float]")
      .version(
          2,
          "(data: T) -> (output: T) {value: float = 0, mode: string = 'constant', pads: ints!} [T: @float]",
          pad_2_from_1)
      .version(11,
               "(data: T, pads: int64, constant_value?: T) -> (output: T) {mode: string = 'constant'} [T: "
               "@number]",
               pad_11_from_2, pad_2_from_11)
      .version(13,
               "(data: T, pads: int64, constant_value?: T) -> (output: T) {mode: string = 'constant'} [T: "
               "@all_13]")
      .version(18,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_13; Tind: @index]",
               nullptr, pad_13_from_18)
      .version(19,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_13; Tind: @index]",
               nullptr, pad_18_from_19)
      .version(21,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir10; Tind: @index]")
      .version(23,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir11; Tind: @index]")
      .version(24,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir12; Tind: @index]")
      .version(25,
               "(data: T, pads: int64, constant_value?: T, axes?: Tind) -> (output: T) {mode: string = "
               "'constant'} [T: @all_ir13; Tind: @index]")
      .rule<Pad>()
      .spelled(spelling::pad)
      .contract({.exact = true});
}

}  // namespace lathe
