#include "ops/constant/constant.h"

#include <algorithm>
#include <numeric>

#include "ops/element_type.h"
#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

DataType constant_type(const Node& n, std::span<const ValueType>) {
  return decode<Constant>(n.attributes).tensor().type();
}

DataType constant_of_shape_type(const Node& n, std::span<const ValueType>) {
  return decode<ConstantOfShape>(n.attributes).type();
}

DataType eye_like_type(const Node& n, std::span<const ValueType> inputs) {
  const auto dtype = decode<EyeLike>(n.attributes).dtype;
  return dtype ? element_type(*dtype, "dtype") : inputs[0].elem;
}

bool count_axis(RewriteContext& c) {
  return c.node().attributes.get<int64_t>("axis", -1) == -1 ||
         count_from_front(c, "axis", rank_of(c.type(c.node().outputs[0])));
}

/// Older versions do not allow negative indices; axis -1 is the last, others are counted from the front.
bool one_hot_9_from_11(RewriteContext& c) {
  if (c.is_from_front(c.node().inputs[0])) return count_axis(c);
  const auto indices = constant_ints(c, 0);
  if (!indices || std::ranges::any_of(*indices, [](int64_t i) { return i < 0; }))
    return c.cannot("in older ones indices are counted from the front, and these may be negative",
                    "make 'indices' a constant of numbers from 0 on");
  return count_axis(c);
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// The number of steps from `start` to `limit`, rounded up. Their distance may overflow their type, so both
/// are divided into whole steps and a rest first.
ValueId steps_between(DecomposeContext& c, ValueId start, ValueId limit, ValueId step) {
  struct Parts {
    ValueId whole, rest;
  };
  const auto is_step_down = is_negative(c, step);
  const auto divided = [&](ValueId v) {
    const ValueId whole = one(c, "Div", {v, step}), rest = one(c, "Sub", {v, one(c, "Mul", {whole, step})});
    const ValueId some = cast(c, cast(c, rest, DataType::boolean), DataType::int64);
    const ValueId sides = one(c, "Sub", {is_negative(c, rest), is_step_down});
    const ValueId apart = one(c, "Mul", {one(c, "Mul", {sides, sides}), some});
    return Parts{one(c, "Sub", {whole, apart}), one(c, "Add", {rest, one(c, "Mul", {apart, step})})};
  };
  const auto sign = [&](ValueId v) {
    return one(c, "Sub", {is_negative(c, one(c, "Neg", {v})), is_negative(c, v)});
  };
  const auto with_part = [&](ValueId whole, ValueId rest) {
    const ValueId onward = one(c, "Mul", {sign(rest), plus(c, times(c, is_step_down, -2), 1)});
    return one(c, "Add", {whole, is_negative(c, one(c, "Neg", {onward}))});
  };
  const Tensor* first = c.constant(start);
  if (first && load_int(*first, 0) == 0) {
    const ValueId whole = one(c, "Div", {limit, step});
    return with_part(whole, one(c, "Sub", {limit, one(c, "Mul", {whole, step})}));
  }
  const Parts to = divided(limit), from = divided(start);
  return with_part(one(c, "Sub", {to.whole, from.whole}), one(c, "Sub", {to.rest, from.rest}));
}

/// A constant range, if it is not too long.
std::optional<ValueId> known_range(DecomposeContext& c, DataType type) {
  constexpr int64_t max_listed = 4096;
  const Tensor* given[3];
  for (size_t i = 0; i < 3; ++i) {
    given[i] = c.constant(input(c, i));
    if (!given[i] || given[i]->size() != 1) return std::nullopt;
  }
  const auto list = [&](auto start, auto limit, auto delta, auto&& store) -> std::optional<ValueId> {
    const int64_t count = range_count(start, limit, delta);
    if (count > max_listed) return std::nullopt;
    Tensor t(type, {count});
    for (int64_t i = 0; i < count; ++i) store(t, i, range_element(start, delta, i));
    return c.add_constant(std::move(t), "range");
  };
  if (is_integer(type))
    return list(load_int(*given[0], 0), load_int(*given[1], 0), load_int(*given[2], 0),
                [](Tensor& t, int64_t i, int64_t v) { store_int(t, i, v); });
  return list(load_double(*given[0], 0), load_double(*given[1], 0), load_double(*given[2], 0),
              [](Tensor& t, int64_t i, double v) { store_double(t, i, v); });
}

/// Computes the elements from the iteration numbers of a Loop.
std::vector<ValueId> range(DecomposeContext& c) {
  if (c.opset() >= 11) return in_wider_types(c);
  const DataType type = elem_of(c, input(c, 0));
  if (const auto known = known_range(c, type)) return {*known};
  const DataType wide = is_integer(type) ? DataType::int64 : DataType::float64;
  std::vector<ValueId> given;
  for (size_t i = 0; i < 3; ++i) {
    const Tensor* t = c.constant(input(c, i));
    given.push_back(t && t->type() == wide && t->rank() == 0 ? input(c, i)
                                                             : cast(c, as_scalar(c, input(c, i)), wide));
  }
  ValueId count;
  if (wide == DataType::int64)
    count = steps_between(c, given[0], given[1], given[2]);
  else
    count = cast(c, one(c, "Ceil", {one(c, "Div", {one(c, "Sub", {given[1], given[0]}), given[2]})}),
                 DataType::int64);
  count = one(c, "Mul", {count, is_negative(c, one(c, "Neg", {count}))});  // none below 0
  auto body = std::make_shared<Graph>(&c.graph());
  const ValueId round = body->add_input("round", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId go_on = body->add_input("go_on", ValueType::tensor(DataType::boolean, SymShape{}));
  const ValueId nothing = body->add_input("nothing", ValueType::tensor(DataType::boolean, SymShape{}));
  const auto in = c.inside(*body);
  body->set_outputs({go_on, nothing, one(*in, "Identity", {round})});
  const ValueId truth = c.add_constant(Tensor::scalar(true), "truth");
  const ValueId rounds = c.insert_with_bodies("Loop", {count, truth, truth}, {}, {{"body", body}}, 2)[1];
  const ValueId steps = one(c, "Mul", {cast(c, rounds, wide), given[2]});
  return {cast(c, one(c, "Add", {steps, given[0]}), type)};
}

std::vector<ValueId> constant_of_shape(DecomposeContext& c) {
  if (c.opset() >= 9) unsupported({}, {});
  const auto* value = c.node().attributes.get_if<Tensor>("value");
  const ValueId all = c.add_constant(value ? value->reshaped({}) : Tensor::scalar(0.0f), "value");
  return {one(c, "Expand", {all, input(c, 0)})};
}

/// Ones where the column is k more than the row.
std::vector<ValueId> eye_like(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const auto op = decode<EyeLike>(c.node().attributes);
  const ValueId x = input(c, 0), rows = unsqueezed(c, indices_along(c, x, 0), {1}),
                columns = indices_along(c, x, 1);
  const ValueId ones = one(c, "Equal", {plus(c, rows, static_cast<double>(op.k)), columns});
  return {cast(c, ones, elem_of(c, c.node().outputs[0]))};
}

/// Compares all positions with the index, counted from either end, to select the on or the off value.
std::vector<ValueId> one_hot(DecomposeContext& c) {
  if (c.opset() >= 11) return in_wider_types(c);
  const int64_t rank = rank_of(c, input(c, 0)), axis = c.node().attributes.get<int64_t>("axis", -1);
  const int64_t at = axis < 0 ? axis + rank + 1 : axis;
  const Tensor* depth = c.constant(input(c, 1));
  const ValueId index = unsqueezed(c, cast(c, input(c, 0), DataType::int64), {at});
  std::vector<int64_t> along(static_cast<size_t>(rank + 1), 1);
  along[static_cast<size_t>(at)] = -1;
  ValueId from_front, from_end;
  if (depth && depth->size() == 1) {
    const auto count = static_cast<int64_t>(
        is_float(depth->type()) ? load_double(*depth, 0) : static_cast<double>(load_int(*depth, 0)));
    std::vector<int64_t> front(static_cast<size_t>(std::max<int64_t>(count, 0))), end = front;
    std::iota(front.begin(), front.end(), 0);
    std::iota(end.begin(), end.end(), -count);
    const Shape shape(along.begin(), along.end());
    const auto laid_out = [&](const std::vector<int64_t>& v) {
      Shape own = shape;
      own[static_cast<size_t>(at)] = static_cast<int64_t>(v.size());
      return c.add_constant(Tensor::from<int64_t>(own, v), "places");
    };
    from_front = laid_out(front);
    from_end = laid_out(end);
  } else {
    const ValueId count = as_scalar(c, cast(c, input(c, 1), DataType::int64));
    const ValueId all = one(c, "Range", {int_scalar(c, 0), count, int_scalar(c, 1)});
    from_front = reshaped(c, all, along);
    from_end = one(c, "Sub", {from_front, count});
  }
  const ValueId on = one(c, "Or", {one(c, "Equal", {index, from_front}), one(c, "Equal", {index, from_end})});
  return {gathered(c, input(c, 2), cast(c, on, DataType::int64), 0)};
}

}  // namespace
}  // namespace decomposition

void declare_constant(SchemaCatalog& c) {
  c.add("Constant")
      .version(1, "() -> (output: T) {value: tensor!} [T: @float]")
      .version(9, "() -> (output: T) {value: tensor!} [T: @all]")
      .version(11, "() -> (output: T) {sparse_value: sparse, value: tensor} [T: @all]")
      .version(12,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all]")
      .version(13,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_13]")
      .version(19,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir9]")
      .version(21,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir10]")
      .version(23,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir11]")
      .version(24,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir12]")
      .version(25,
               "() -> (output: T) {value_strings: strings, value_string: string, value_floats: floats, "
               "value_float: float, value_ints: ints, value_int: int, sparse_value: sparse, value: tensor} "
               "[T: @all_ir13]")
      .rule<Constant>()
      .output_type(constant_type)
      .tolerance({.exact = true});
  c.add("ConstantOfShape")
      .version(9, "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain]")
      .version(20,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 float8e4m3fn "
               "float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .version(21,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .version(23,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1]")
      .version(24,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0]")
      .version(25,
               "(input: T1) -> (output: T2) {value: tensor} [T1: int64; T2: @plain_13 uint4 int4 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0 uint2 int2]")
      .rule<ConstantOfShape>()
      .decompose(decomposition::constant_of_shape)
      .output_type(constant_of_shape_type)
      .tolerance({.exact = true});
  c.add("Range")
      .version(11, "(start: T, limit: T, delta: T) -> (output: T) [T: float double int16 int32 int64]")
      .version(27,
               "(start: T, limit: T, delta: T) -> (output: T) {stash_type: int = 1} [T: @float_13 int16 "
               "int32 int64]")
      .rule<Range>()
      .decompose(decomposition::range)
      .tolerance({.epsilons = 4});
  c.add("EyeLike")
      .version(9, "(input: T1) -> (output: T2) {dtype: int, k: int = 0} [T1: @plain; T2: @plain]")
      .version(22, "(input: T1) -> (output: T2) {dtype: int, k: int = 0} [T1: @plain_13; T2: @plain_13]")
      .rule<EyeLike>()
      .decompose(decomposition::eye_like)
      .output_type(eye_like_type)
      .tolerance({.exact = true});
  c.add("OneHot")
      .version(9,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all]")
      .version(11,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all]",
               nullptr, one_hot_9_from_11)
      .version(28,
               "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} [T1: @number; T2: "
               "@number; T3: @all_13]")
      .rule<OneHot>()
      .decompose(decomposition::one_hot)
      .tolerance({.exact = true});
}

}  // namespace lathe
