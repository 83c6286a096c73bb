#include "ops/reduce/reduce.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void axes_to_input(UpgradeContext& u) { ints_to_input(u, "axes", 1); }

bool axes_to_attribute(RewriteContext& c) {
  if (!input_to_ints(c, 1, "axes")) return false;
  Attributes& a = c.node().attributes;
  const auto* axes = a.get_if<std::vector<int64_t>>("axes");
  if (axes && axes->empty()) a.erase("axes");
  if (!a.has("axes") && a.get<int64_t>("noop_with_empty_axes", 0) != 0) return false;
  a.erase("noop_with_empty_axes");
  return true;
}

}  // namespace

void declare_reduce(SchemaCatalog& c) {
  c.add("ReduceSum")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::sum>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceMean")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::mean>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceMax")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(12, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide uint8 int8]")
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13 uint8 int8]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13 uint8 int8]",
               axes_to_input, axes_to_attribute)
      .version(20,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13 uint8 int8 bool]")
      .rule<Reduce<ReduceFunction::max>>()
      .contract({.exact = true});
  c.add("ReduceMin")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(12, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide uint8 int8]")
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13 uint8 int8]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13 uint8 int8]",
               axes_to_input, axes_to_attribute)
      .version(20,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13 uint8 int8 bool]")
      .rule<Reduce<ReduceFunction::min>>()
      .contract({.exact = true});
  c.add("ReduceProd")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::prod>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceL1")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::l1>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceL2")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::l2>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceLogSum")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .version(28,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @float_13]",
               integers_through_double, as_it_is)
      .rule<Reduce<ReduceFunction::log_sum>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceLogSumExp")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .version(28,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @float_13]",
               integers_through_double, as_it_is)
      .rule<Reduce<ReduceFunction::log_sum_exp>>()
      .contract({.epsilons = 4, .per_reduced = true});
  c.add("ReduceSumSquare")
      .version(1, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]")
      .version(11, "(data: T) -> (reduced: T) {keepdims: int = 1, axes: ints} [T: @wide]", nullptr,
               axes_from_front)
      .version(13, "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} [T: @wide_13]")
      .version(18,
               "(data: T, axes?: int64) -> (reduced: T) {noop_with_empty_axes: int = 0, keepdims: int = 1} "
               "[T: @wide_13]",
               axes_to_input, axes_to_attribute)
      .rule<Reduce<ReduceFunction::sum_square>>()
      .contract({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
