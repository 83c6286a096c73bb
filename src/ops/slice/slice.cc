#include "ops/slice/slice.h"

#include <algorithm>
#include <numeric>

#include "schema/downgrade.h"
#include "schema/node_builder.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

void slice_10_from_1(UpgradeContext& u) {
  ints_to_input(u, "starts", 1);
  ints_to_input(u, "ends", 2);
  ints_to_input(u, "axes", 3);
}

bool axes_input_from_front(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  if (inputs.size() < 4 || inputs[3] == no_id || c.is_from_front(inputs[3])) return true;
  auto axes = constant_ints(c, 3);
  const auto rank = rank_of(c.input_type(0));
  if (!axes)
    return c.cannot("in older ones 'axes' are counted from the front, and these are computed",
                    "make 'axes' a constant");
  bool changed = false;
  for (int64_t& a : *axes) {
    if (a >= 0) continue;
    if (!rank)
      return c.cannot("in older ones 'axes' are counted from the front, and the rank is not known",
                      "count 'axes' from the front");
    a += static_cast<int64_t>(*rank);
    changed = true;
  }
  if (!changed) return true;
  Tensor t(c.input_type(3).elem, {static_cast<int64_t>(axes->size())});
  for (size_t i = 0; i < axes->size(); ++i) store_int(t, static_cast<int64_t>(i), (*axes)[i]);
  inputs.set(3, c.add_constant(std::move(t), "axes"));
  return true;
}

bool slice_1_from_10(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  if (inputs.size() > 4 && inputs[4] != no_id) {
    const auto steps = constant_ints(c, 4);
    if (!steps || std::ranges::any_of(*steps, [](int64_t s) { return s != 1; }))
      return c.cannot("older ones have no input 'steps'");
  }
  inputs.resize(std::min<size_t>(inputs.size(), 4));
  return input_to_ints(c, 3, "axes") && input_to_ints(c, 2, "ends") && input_to_ints(c, 1, "starts");
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// A start or end along an axis, counted from the front and clamped. All of them are lists of one.
ValueId bounded(DecomposeContext& c, ValueId bound, ValueId size, bool forward) {
  bound = one(c, "Add", {bound, one(c, "Mul", {is_negative(c, bound), size})});
  if (forward) return at_most(c, at_least_0(c, bound), size);
  return plus(c, at_least_0(c, plus(c, at_most(c, bound, plus(c, size, -1)), 1)), -1);
}

/// Gathers the elements if there is a step, or bounds that a run computes.
std::vector<ValueId> slice(DecomposeContext& c) {
  ValueId x = input(c, 0);
  if (c.opset() == 10 && has(c, 3) && !constant_ints(c, 3) && !c.is_from_front(input(c, 3))) {
    std::vector<ValueId> inputs = c.node().inputs;
    const DataType type = elem_of(c, inputs[3]);
    const ValueId rank = number(c, static_cast<double>(rank_of(c, x)), type);
    inputs[3] = one(c, "Add", {inputs[3], one(c, "Mul", {is_negative(c, inputs[3]), rank})});
    c.note_from_front(inputs[3]);
    return {one(c, "Slice", std::move(inputs))};
  }
  if (c.opset() >= 10) unsupported({}, {});
  const auto list = [&](size_t i) { return has(c, i) ? constant_ints(c, i) : std::nullopt; };
  const auto starts = list(1), ends = list(2), steps = list(4);
  auto axes = list(3);
  if (has(c, 3) && !axes) unsupported("constant 'axes'", "computed ones");
  if (has(c, 4) && !steps) unsupported("constant 'steps'", "computed ones");
  const auto count =
      axes ? static_cast<int64_t>(axes->size()) : known(size_of(c, input(c, 1), 0)).value_or(-1);
  if (count < 0) unsupported("a known number of axes", c.input_type(1).str());
  if (!axes) {
    axes.emplace(static_cast<size_t>(count));
    std::iota(axes->begin(), axes->end(), 0);
  }
  bool changed = false;
  std::vector<int64_t> plain_axes, plain_starts, plain_ends;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = from_front(c, x, (*axes)[i]), step = steps ? (*steps)[i] : 1;
    if (step == 1 && starts && ends) {
      plain_axes.push_back(axis);
      plain_starts.push_back((*starts)[i]);
      plain_ends.push_back((*ends)[i]);
      continue;
    }
    changed = true;
    const auto size = known(size_of(c, x, axis));
    // More than these would only make files long.
    constexpr int64_t max_listed = 65536;
    const SliceRange r =
        size && starts && ends ? slice_range(*size, (*starts)[i], (*ends)[i], step) : SliceRange{};
    if (size && starts && ends && r.count <= max_listed) {
      std::vector<int64_t> at;
      for (int64_t k = 0; k < r.count; ++k) at.push_back(r.start + k * r.step);
      x = gathered(c, x, at, axis);
      continue;
    }
    const auto here = static_cast<int64_t>(i);
    const auto given = [&](size_t k) {
      return cast(c, sliced(c, input(c, k), ints(c, {here}), ints(c, {here + 1}), 0), DataType::int64);
    };
    const ValueId whole = size ? ints(c, {*size}) : length(c, x, axis);
    const ValueId from = bounded(c, given(1), whole, step > 0), to = bounded(c, given(2), whole, step > 0);
    x = gathered(c, x, one(c, "Range", {scalar_of(c, from), scalar_of(c, to), int_scalar(c, step)}), axis);
  }
  if (!changed) unsupported({}, {});
  if (!plain_axes.empty())
    x = one(c, "Slice", {x, ints(c, plain_starts), ints(c, plain_ends), ints(c, plain_axes)});
  return {x};
}

}  // namespace
}  // namespace decomposition

void declare_slice(SchemaCatalog& c) {
  c.add("Slice")
      .version(1, "(data: T) -> (output: T) {ends: ints!, starts: ints!, axes: ints} [T: @all]")
      .version(10,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all; "
               "Tind: @index]",
               slice_10_from_1, slice_1_from_10)
      .version(11,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all; "
               "Tind: @index]",
               nullptr, axes_input_from_front)
      .version(13,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all_13; "
               "Tind: @index]")
      .rule<Slice>()
      .decompose(decomposition::slice)
      .tolerance({.exact = true});
}

}  // namespace lathe
