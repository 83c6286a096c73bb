#include "ops/center_crop_pad/center_crop_pad.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

std::vector<ValueId> center_crop_pad(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  std::vector<int64_t> axes;
  if (const auto given = decode<CenterCropPad>(c.node().attributes).axes)
    for (int64_t a : *given) axes.push_back(from_front(c, x, a));
  else
    for (int64_t a = 0; a < rank_of(c, x); ++a) axes.push_back(a);
  if (axes.empty()) return {x};
  const ValueId wanted = cast(c, input(c, 1), DataType::int64), where = ints(c, axes),
                none = int_scalar(c, 0);
  const ValueId there = one(c, "Gather", {one(c, "Shape", {x}), where});
  const auto excess = [&](ValueId a, ValueId b) { return one(c, "Max", {one(c, "Sub", {a, b}), none}); };
  const auto half = [&](ValueId v) { return one(c, "Div", {v, int_scalar(c, 2)}); };
  const ValueId first = half(excess(there, wanted));
  const ValueId end = one(c, "Add", {first, one(c, "Min", {there, wanted})});
  const ValueId missing = excess(wanted, there), before = half(missing);
  const ValueId pads = concat(c, {before, one(c, "Sub", {missing, before})}, 0);
  const ValueId cut = one(c, "Slice", {x, first, end, where});
  return {one(c, "Pad", {cut, pads, no_id, where})};
}

}  // namespace
}  // namespace decomposition

void declare_center_crop_pad(SchemaCatalog& c) {
  c.add("CenterCropPad")
      .version(18, "(input_data: T, shape: Tind) -> (output_data: T) {axes: ints} [T: @all_13; Tind: @index]")
      .rule<CenterCropPad>()
      .decompose(decomposition::center_crop_pad)
      .tolerance({.exact = true});
}

}  // namespace lathe
