#include "ops/reduce/reduce.h"

#include "schema/downgrade.h"
#include "schema/words.h"

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

namespace spelling {
using namespace words;
namespace {

ValueId again(SpellContext& c, std::string_view op, ValueId x) {
  return one(c, op, {x, input(c, 1)}, c.node().attributes);
}

/// The shape that the output has.
ValueId reduced_shape(SpellContext& c) {
  return one(c, "Shape", {again(c, "ReduceSum", cast(c, input(c, 0), DataType::float32))});
}

/// ReduceSum has taken computed axes for longer than its kin: what sums can say.
template <class Before, class After>
std::vector<ValueId> by_sum(SpellContext& c, Before&& before, After&& after) {
  if (!has(c, 1)) return in_wider_types(c);
  const ValueId x = widened(c, input(c, 0));
  return {cast(c, after(again(c, "ReduceSum", before(x))), elem_of(c, input(c, 0)))};
}

std::vector<ValueId> mean_of(SpellContext& c) {
  const auto as_it_is = [](ValueId v) { return v; };
  return by_sum(c, as_it_is, [&](ValueId sum) {
    // In floats, since there may be nothing, of nothing.
    const auto size_of = [&](ValueId v) { return cast(c, one(c, "Size", {v}), DataType::float64); };
    const ValueId count = one(c, "Div", {size_of(input(c, 0)), size_of(sum)});
    return one(c, "Div", {sum, cast(c, count, elem_of(c, sum))});
  });
}
ValueId squared(SpellContext& c, ValueId v) { return one(c, "Mul", {v, v}); }
std::vector<ValueId> l1(SpellContext& c) {
  return by_sum(
      c, [&](ValueId x) { return one(c, "Abs", {x}); }, [](ValueId v) { return v; });
}
std::vector<ValueId> l2(SpellContext& c) {
  return by_sum(
      c, [&](ValueId x) { return squared(c, x); }, [&](ValueId v) { return one(c, "Sqrt", {v}); });
}
std::vector<ValueId> sum_square(SpellContext& c) {
  return by_sum(
      c, [&](ValueId x) { return squared(c, x); }, [](ValueId v) { return v; });
}
std::vector<ValueId> log_sum(SpellContext& c) {
  return by_sum(
      c, [](ValueId x) { return x; }, [&](ValueId v) { return one(c, "Log", {v}); });
}

/// Of numbers less their greatest, unless that is infinite.
std::vector<ValueId> log_sum_exp(SpellContext& c) {
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

/// Is `axis`, one of `rank`, among the axes, or are there none and that means all?
ValueId is_reduced(SpellContext& c, int64_t axis, int64_t rank) {
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

/// Axis by axis, each if it is to be.
std::vector<ValueId> one_axis_after_another(SpellContext& c) {
  const std::string op = c.node().op;
  ValueId x = input(c, 0);
  if (elem_of(c, x) == DataType::boolean) {
    std::vector<ValueId> inputs = c.node().inputs;
    inputs[0] = cast(c, x, DataType::uint8);  // whose least and greatest are falsehood and truth
    return {cast(c, one(c, op, std::move(inputs), c.node().attributes), DataType::boolean)};
  }
  if (!has(c, 1) || c.constant(input(c, 1))) return in_wider_types(c);
  const int64_t rank = rank_of(c, x);
  if (rank_of(c, input(c, 1)) != 1) unsaid("a list of axes", c.input_type(1).str());
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
}  // namespace spelling

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
      .spelled(words::in_wider_types)
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
      .spelled(spelling::mean_of)
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
      .spelled(spelling::one_axis_after_another)
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
      .spelled(spelling::one_axis_after_another)
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
      .spelled(spelling::one_axis_after_another)
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
      .spelled(spelling::l1)
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
      .spelled(spelling::l2)
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
      .spelled(spelling::log_sum)
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
      .spelled(spelling::log_sum_exp)
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
      .spelled(spelling::sum_square)
      .contract({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
