#include "ops/slice/slice.h"

#include <algorithm>

#include "schema/downgrade.h"
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
  if (inputs.size() < 4 || inputs[3] == no_id) return true;
  auto axes = constant_ints(c, 3);
  const auto rank = rank_of(c.input_type(0));
  if (!axes) return false;
  bool changed = false;
  for (int64_t& a : *axes) {
    if (a >= 0) continue;
    if (!rank) return false;
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
    if (!steps || std::ranges::any_of(*steps, [](int64_t s) { return s != 1; })) return false;
  }
  inputs.resize(std::min<size_t>(inputs.size(), 4));
  return input_to_ints(c, 3, "axes") && input_to_ints(c, 2, "ends") && input_to_ints(c, 1, "starts");
}

}  // namespace

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
      .contract({.exact = true});
}

}  // namespace lathe
