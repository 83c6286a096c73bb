#include "ops/pad/pad.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"

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
    if (!value && c.constant(inputs[2]))
      return c.cannot("in older ones 'constant_value' is a number of float");
    if (!value) return cannot_be_computed(c, "constant_value");
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
  if (!axes) return cannot_be_computed(c, "axes");
  if (!pads) return cannot_be_computed(c, "pads");
  if (!known_rank) return c.cannot("in older ones 'pads' are those of all axes, and the rank is not known");
  if (pads->size() != 2 * axes->size()) return c.cannot("it has not two pads for each of its axes");
  const auto rank = static_cast<int64_t>(*known_rank);
  std::vector<int64_t> all(2 * *known_rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return c.cannot("the input has no axis " + std::to_string((*axes)[i]));
    all[static_cast<size_t>(axis)] = (*pads)[i];
    all[static_cast<size_t>(axis + rank)] = (*pads)[i + axes->size()];
  }
  inputs.set(1, c.add_constant(int64_vector(all), "pads"));
  inputs.resize(3);
  return true;
}

bool pad_18_from_19(RewriteContext& c) {
  return c.node().attributes.get<std::string>("mode", "constant") != "wrap" ||
         c.cannot("older ones have no mode 'wrap'");
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Pads of some axes as pads of all, axes and pads as they come.
ValueId pads_of_all(DecomposeContext& c, int64_t rank) {
  if (!has(c, 3)) return input(c, 1);
  if (c.opset() < 11) {
    const ValueId hits = axis_hits(c, input(c, 3), rank);
    const ValueId parts = one(c, "Mul", {reshaped(c, input(c, 1), {2, -1, 1}), hits});
    return reshaped(c, reduced(c, "ReduceSum", parts, {1}, false), {-1});
  }
  const ValueId ranks = ints(c, {rank});
  const ValueId axes = one(c, "Mod", {one(c, "Add", {cast(c, input(c, 3), DataType::int64), ranks}), ranks});
  const ValueId places = concat(c, {axes, one(c, "Add", {axes, ranks})}, 0);
  const ValueId none = ints(c, std::vector<int64_t>(static_cast<size_t>(2 * rank), 0));
  return one(c, "ScatterElements", {none, places, input(c, 1)});
}

/// Repeats what negative pads leave of an axis, from `before` ahead of its first element to `after` behind
/// its last.
ValueId wrapped(DecomposeContext& c, ValueId x, int64_t axis, ValueId before, ValueId after) {
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

/// The index from which position `at`, maybe outside of an axis of `size` elements, is read; `size` itself is
/// the index of the fill value.
int64_t source(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "constant") return at < 0 || at >= size ? size : at;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  const int64_t period = std::max<int64_t>(2 * (size - 1), 1), within = ((at % period) + period) % period;
  return size - 1 - std::abs(size - 1 - within);
}
ValueId source(DecomposeContext& c, const std::string& mode, ValueId at, ValueId size) {
  const ValueId last = plus(c, size, -1);
  if (mode == "edge") return at_most(c, at_least_0(c, at), last);
  if (mode == "reflect") {
    const ValueId period = one(c, "Add", {times(c, last, 2), is_negative(c, plus(c, size, -2))});
    const ValueId from_end = one(c, "Sub", {last, one(c, "Mod", {at, period})});
    return one(c, "Sub", {last, one(c, "Abs", {from_end})});
  }
  const ValueId ahead = is_negative(c, at), near = at_least_0(c, at);
  const ValueId behind = is_negative(c, one(c, "Sub", {last, near})),
                no_less = one(c, "Sub", {int_scalar(c, 1), ahead});
  const ValueId outside = one(c, "Add", {ahead, one(c, "Mul", {behind, no_less})});
  return one(c, "Add", {at, one(c, "Mul", {outside, one(c, "Sub", {size, at})})});
}

/// Pads one axis by gathering its elements.
ValueId grown(DecomposeContext& c, ValueId x, int64_t axis, const std::string& mode, ValueId pads,
              int64_t rank) {
  const auto size = known(size_of(c, x, axis));
  const Tensor* given = c.constant(pads);
  const int64_t before = given ? load_int(*given, axis) : 0,
                after = given ? load_int(*given, axis + rank) : 0;
  if (given && before == 0 && after == 0) return x;
  ValueId from = x;
  if (mode == "constant") {
    std::vector<ValueId> sizes;
    for (int64_t a = 0; a < rank; ++a)
      sizes.push_back(a == axis ? ints(c, {1}) : size_of_axes(c, x, a, a + 1));
    const DataType type = elem_of(c, x);
    const ValueId fill = has(c, 2) ? as_scalar(c, input(c, 2)) : c.add_constant(zeros(type, {}), "fill");
    from = concat(c, {x, one(c, "Expand", {fill, sizes_of(c, std::move(sizes))})}, axis);
  }
  // Long lists of indices are computed by the run instead.
  constexpr int64_t max_listed = int64_t{1} << 24;
  if (given && size && std::abs(before / 2) < max_listed && std::abs(after / 2) < max_listed) {
    std::vector<int64_t> at;
    for (int64_t i = -before; i < *size + after; ++i) at.push_back(source(mode, i, *size));
    return gathered(c, from, at, axis);
  }
  const auto pad_at = [&](int64_t i) { return sliced(c, pads, ints(c, {i}), ints(c, {i + 1}), 0); };
  const ValueId whole = size ? ints(c, {*size}) : length(c, x, axis);
  const ValueId ahead = pad_at(axis),
                count = one(c, "Add", {one(c, "Add", {whole, ahead}), pad_at(axis + rank)});
  const ValueId all =
      one(c, "Sub", {one(c, "Range", {int_scalar(c, 0), scalar_of(c, count), int_scalar(c, 1)}), ahead});
  return gathered(c, from, source(c, mode, all, whole), axis);
}

std::vector<ValueId> pad(DecomposeContext& c) {
  const Node node = c.node();
  const bool wraps = node.attributes.get<std::string>("mode", "constant") == "wrap";
  ValueId x = input(c, 0);
  const auto mode = node.attributes.get<std::string>("mode", "constant");
  const bool older =
      c.opset() < 11 || (c.opset() < 13 && !is_integer(elem_of(c, x)) && !is_float(elem_of(c, x)));
  if (!wraps && !has(c, 3) && !older) unsupported({}, {});
  const int64_t rank = rank_of(c, x);
  if (!wraps && !has(c, 3)) {
    for (int64_t axis = 0; axis < rank; ++axis) x = grown(c, x, axis, mode, input(c, 1), rank);
    return {x};
  }
  const ValueId pads = pads_of_all(c, rank);
  if (!wraps) return {one(c, "Pad", {x, pads, input(c, 2)}, node.attributes)};
  const auto at = [&](int64_t i) { return sliced(c, pads, ints(c, {i}), ints(c, {i + 1}), 0); };
  for (int64_t axis = 0; axis < rank; ++axis) x = wrapped(c, x, axis, at(axis), at(axis + rank));
  return {x};
}

}  // namespace
}  // namespace decomposition

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
      .decompose(decomposition::pad)
      .tolerance({.exact = true});
}

}  // namespace lathe
