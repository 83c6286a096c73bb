#include "ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

void axes_to_input(UpgradeContext& u) { ints_to_input(u, "axes", 1); }

bool axes_to_attribute(RewriteContext& c) {
  if (!input_to_ints(c, 1, "axes")) return false;
  Attributes& a = c.node().attributes;
  const auto* axes = a.get_if<std::vector<int64_t>>("axes");
  if (axes && axes->empty()) a.erase("axes");
  if (!a.has("axes") && a.get<int64_t>("noop_with_empty_axes", 0) != 0)
    return c.cannot("older ones have no 'noop_with_empty_axes': to them no axes are all axes");
  a.erase("noop_with_empty_axes");
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

ValueId again(DecomposeContext& c, std::string_view op, ValueId x) {
  return one(c, op, {x, input(c, 1)}, c.node().attributes);
}

/// The shape of the output.
ValueId reduced_shape(DecomposeContext& c) {
  return one(c, "Shape", {again(c, "ReduceSum", cast(c, input(c, 0), DataType::float32))});
}

/// Returns whether there are no axes and that means none.
bool keeps_all(DecomposeContext& c) {
  if (c.node().attributes.get<int64_t>("noop_with_empty_axes", 0) == 0) return false;
  const Tensor* axes = has(c, 1) ? c.constant(input(c, 1)) : nullptr;
  return !has(c, 1) || (axes && axes->size() == 0);
}

/// Returns whether a run computes the axes, in an opset that takes none. Each axis then becomes two, one of
/// its size and one of size 1; the second has the size if the axis is to be reduced.
bool is_by_flags(DecomposeContext& c) {
  if (!has(c, 1) || c.constant(input(c, 1))) return false;
  // For integers, the operator itself computes roots and logarithms.
  return c.opset() < 13 ||
         (c.opset() < 18 && c.node().op != "ReduceSum" && is_integer(elem_of(c, input(c, 0))));
}
std::vector<ValueId> by_flags(DecomposeContext& c) {
  const ValueId x = input(c, 0), axes = input(c, 1);
  const int64_t rank = rank_of(c, x);
  const auto count = c.type(axes).shape && c.type(axes).shape->empty() ? std::optional<int64_t>(1)
                                                                       : known(size_of(c, axes, 0));
  const bool keeps_none = c.node().attributes.get<int64_t>("noop_with_empty_axes", 0) == 0;
  ValueId flags = axis_flags(c, axes, rank);
  if (keeps_none && (!count || *count == 0)) {
    const ValueId none = one(c, "Equal", {one(c, "Size", {axes}), int_scalar(c, 0)});
    flags = one(c, "Add", {flags, cast(c, none, DataType::int64)});
  }
  const ValueId sizes = one(c, "Shape", {x}), more = one(c, "Mul", {flags, plus(c, sizes, -1)});
  const ValueId stay = one(c, "Sub", {sizes, more}), go = plus(c, more, 1);
  const ValueId both = reshaped(c, concat(c, {unsqueezed(c, stay, {1}), unsqueezed(c, go, {1})}, 1), {-1});
  std::vector<int64_t> gone;
  for (int64_t a = 0; a < rank; ++a) gone.push_back(2 * a + 1);
  const ValueId y = rank == 0 ? reduced(c, c.node().op, x, {})
                              : reduced(c, c.node().op, reshaped_surely(c, x, both, x), gone, false);
  if (rank == 0 || c.node().attributes.get<int64_t>("keepdims", 1) != 0) return {y};
  std::optional<int64_t> left;
  if (count) left = *count == 0 ? (keeps_none ? 0 : rank) : rank - *count;
  return {reshaped_surely(c, y, sizes_left(c, sizes, flags, rank, left), x)};
}

std::vector<ValueId> sum(DecomposeContext& c) {
  if (is_by_flags(c)) return by_flags(c);
  return keeps_all(c) ? std::vector{one(c, "Identity", {input(c, 0)})} : in_wider_types(c);
}

/// ReduceSum has taken computed axes for longer than its kin: what sums can say.
template <class Before, class After>
std::vector<ValueId> by_sum(DecomposeContext& c, Before&& before, After&& after) {
  if (keeps_all(c)) {
    const ValueId x = widened(c, input(c, 0));
    return {cast(c, after(before(x)), elem_of(c, input(c, 0)))};
  }
  if (is_by_flags(c)) return by_flags(c);
  if (!has(c, 1)) return in_wider_types(c);
  const ValueId x = widened(c, input(c, 0));
  return {cast(c, after(again(c, "ReduceSum", before(x))), elem_of(c, input(c, 0)))};
}

std::vector<ValueId> mean_of(DecomposeContext& c) {
  if (keeps_all(c)) return {one(c, "Identity", {input(c, 0)})};
  if (is_by_flags(c)) return by_flags(c);
  const auto as_it_is = [](ValueId v) { return v; };
  return by_sum(c, as_it_is, [&](ValueId sum) {
    // In floats, since 0 elements may be reduced to 0 results.
    const auto size_of = [&](ValueId v) { return cast(c, one(c, "Size", {v}), DataType::float64); };
    const ValueId count = one(c, "Div", {size_of(input(c, 0)), size_of(sum)});
    return one(c, "Div", {sum, cast(c, count, elem_of(c, sum))});
  });
}
ValueId squared(DecomposeContext& c, ValueId v) { return one(c, "Mul", {v, v}); }
std::vector<ValueId> l1(DecomposeContext& c) {
  return by_sum(
      c, [&](ValueId x) { return one(c, "Abs", {x}); }, [](ValueId v) { return v; });
}
std::vector<ValueId> l2(DecomposeContext& c) {
  if (keeps_all(c)) return l1(c);
  return by_sum(
      c, [&](ValueId x) { return squared(c, x); }, [&](ValueId v) { return one(c, "Sqrt", {v}); });
}
std::vector<ValueId> sum_square(DecomposeContext& c) {
  return by_sum(
      c, [&](ValueId x) { return squared(c, x); }, [](ValueId v) { return v; });
}
std::vector<ValueId> log_sum(DecomposeContext& c) {
  return by_sum(
      c, [](ValueId x) { return x; }, [&](ValueId v) { return one(c, "Log", {v}); });
}

/// Subtracts the greatest number before exponentials are summed, unless it is infinite.
std::vector<ValueId> log_sum_exp(DecomposeContext& c) {
  if (keeps_all(c)) return {one(c, "Identity", {input(c, 0)})};
  if (is_by_flags(c)) return by_flags(c);
  if (!has(c, 1)) return in_wider_types(c);
  const ValueId x = widened(c, input(c, 0));
  Attributes kept = c.node().attributes;
  kept.set("keepdims", int64_t{1});
  const ValueId most = one(c, "ReduceMax", {x, input(c, 1)}, kept);
  const ValueId finite = one(c, "Where", {one(c, "IsInf", {most}), number(c, 0, elem_of(c, x)), most});
  const ValueId parts = one(c, "Exp", {one(c, "Sub", {x, finite})});
  const ValueId sum = one(c, "Log", {one(c, "ReduceSum", {parts, input(c, 1)}, kept)});
  const ValueId y = reshaped_to(c, one(c, "Add", {sum, finite}), reduced_shape(c));
  return {cast(c, y, elem_of(c, input(c, 0)))};
}

/// A boolean: `axis`, one of `rank`, is among the axes, or there are none and that means all.
ValueId is_reduced(DecomposeContext& c, int64_t axis, int64_t rank) {
  const auto hits = [&](int64_t a) {
    return cast(c, one(c, "Equal", {input(c, 1), int_scalar(c, a)}), DataType::int64);
  };
  const ValueId both = one(c, "Add", {hits(axis), hits(axis - rank)});
  ValueId count = reduced(c, "ReduceSum", both, {0}, false);
  if (c.node().attributes.get<int64_t>("noop_with_empty_axes", 0) == 0) {
    const ValueId none = one(c, "Equal", {one(c, "Size", {input(c, 1)}), int_scalar(c, 0)});
    count = one(c, "Add", {count, cast(c, none, DataType::int64)});
  }
  return one(c, "Greater", {count, int_scalar(c, 0)});
}

/// Reduces axis by axis, each in an If.
std::vector<ValueId> one_axis_after_another(DecomposeContext& c) {
  const std::string op = c.node().op;
  ValueId x = input(c, 0);
  if (keeps_all(c)) return {one(c, "Identity", {x})};
  if (elem_of(c, x) == DataType::boolean) {
    std::vector<ValueId> inputs = c.node().inputs;
    inputs[0] = cast(c, x, DataType::uint8);  // whose least and greatest are false and true
    return {cast(c, one(c, op, std::move(inputs), c.node().attributes), DataType::boolean)};
  }
  if (is_by_flags(c)) return by_flags(c);
  const DataType type = elem_of(c, x);
  const auto& shape = c.type(x).shape;
  if (c.opset() < 12 && is_integer(type) && bits_of(type) < 32 && op != "ReduceProd" &&
      !(shape && std::ranges::all_of(*shape, [](const Dim& d) { return surely_at_least(d, 1); }))) {
    // Empty sets reduce to the wider type's least or greatest number, so these are clipped.
    std::vector<ValueId> inputs = c.node().inputs;
    inputs[0] = cast(c, x, DataType::int32);
    const double count = std::ldexp(1.0, bits_of(type)), least = is_signed_integer(type) ? -count / 2 : 0;
    const ValueId low = number(c, least, DataType::int32),
                  high = number(c, least + count - 1, DataType::int32);
    return {cast(c, one(c, "Clip", {one(c, op, std::move(inputs), c.node().attributes), low, high}), type)};
  }
  if (!has(c, 1) || c.constant(input(c, 1))) return in_wider_types(c);
  const int64_t rank = rank_of(c, x);
  if (rank_of(c, input(c, 1)) != 1) unsupported("a list of axes", c.input_type(1).str());
  for (int64_t axis = 0; axis < rank; ++axis) {
    auto all = std::make_shared<Graph>(&c.graph()), each = std::make_shared<Graph>(&c.graph());
    all->set_outputs({reduced(*c.inside(*all), op, all->capture(x), {axis})});
    each->set_outputs({one(*c.inside(*each), "Identity", {each->capture(x)})});
    x = c.insert_with_bodies("If", {is_reduced(c, axis, rank)}, {},
                             {{"else_branch", each}, {"then_branch", all}}, 1)[0];
  }
  return {reshaped_to(c, x, reduced_shape(c))};
}

}  // namespace
}  // namespace decomposition

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
      .decompose(decomposition::sum)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::mean_of)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::one_axis_after_another)
      .tolerance({.exact = true});
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
      .decompose(decomposition::one_axis_after_another)
      .tolerance({.exact = true});
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
      .decompose(decomposition::one_axis_after_another)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::l1)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::l2)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::log_sum)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::log_sum_exp)
      .tolerance({.epsilons = 4, .per_reduced = true});
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
      .decompose(decomposition::sum_square)
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
