#include "schema/node_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace lathe::node_builder {

void unsupported(std::string expected, std::string got) {
  throw Error(Code::node_cannot_convert, "export", std::move(expected), std::move(got));
}

DataType elem_of(const RewriteContext& c, ValueId v) {
  const ValueType& t = c.type(v);
  if (!t.is_tensor() || t.elem == DataType::undefined) unsupported("tensors of known types", t.str());
  return t.elem;
}

int64_t rank_of(const RewriteContext& c, ValueId v) {
  const ValueType& t = c.type(v);
  if (!t.shape) unsupported("tensors of known rank", t.str());
  return static_cast<int64_t>(t.shape->size());
}

int64_t from_front(const RewriteContext& c, ValueId v, int64_t axis) {
  return axis < 0 ? axis + rank_of(c, v) : axis;
}

Tensor zeros(DataType type, Shape shape) {
  Tensor t(type, std::move(shape));
  if (type != DataType::string && t.bytes() > 0) std::memset(t.data(), 0, t.bytes());
  return t;
}

ValueId number(InsertContext& c, double v, DataType type) {
  Tensor t(type, {});
  store_double(t, 0, v);
  return c.add_constant(std::move(t), "number");
}

ValueId inverse_root_of_size(InsertContext& c, ValueId v) {
  const DataType type = elem_of(c, v);
  if (const auto size = known(size_of(c, v, -1)))
    return number(c, 1 / std::sqrt(static_cast<double>(*size)), type);
  const ValueId size = scalar_of(c, length(c, v, -1));
  return one(c, "Reciprocal", {one(c, "Sqrt", {cast(c, size, type)})});
}

ValueId indices_along(InsertContext& c, ValueId v, int64_t axis) {
  // More than these would only make files long.
  constexpr int64_t max_listed = 65536;
  const auto size = known(size_of(c, v, axis));
  if (!size || *size > max_listed) return count_up(c, size ? ints(c, {*size}) : length(c, v, axis));
  std::vector<int64_t> all(static_cast<size_t>(*size));
  std::iota(all.begin(), all.end(), 0);
  return ints(c, all);
}

ValueId stride(InsertContext& c, ValueId v, int64_t axis) {
  const int64_t rank = rank_of(c, v);
  int64_t product = 1;
  for (int64_t a = axis + 1; a < rank; ++a) {
    const auto size = known(size_of(c, v, a));
    if (!size) {
      const ValueId sizes = one(c, "Shape", {v}, with("start", axis + 1));
      return reduced(c, "ReduceProd", sizes, {0}, false);
    }
    product *= *size;
  }
  return int_scalar(c, product);
}

ValueId is_negative(InsertContext& c, ValueId v) {
  const DataType type = elem_of(c, v);
  const ValueId below = one(c, "Less", {cast(c, v, DataType::float64), number(c, 0, DataType::float64)});
  return cast(c, below, type);
}

ValueId counted_from_front(DecomposeContext& c, ValueId indices, ValueId v, int64_t axis) {
  const DataType type = elem_of(c, indices);
  if (c.is_from_front(indices)) return indices;
  const auto size = known(size_of(c, v, axis));
  const Tensor* given = c.constant(indices);
  if (given) {
    Tensor front(type, given->shape()), behind(type, given->shape());
    bool any = false;
    for (int64_t i = 0; i < given->size(); ++i) {
      const int64_t at = load_int(*given, i);
      any = any || at < 0;
      store_int(front, i, at < 0 && size ? at + *size : at);
      store_int(behind, i, at < 0);
    }
    if (!any) return indices;
    if (size) return c.add_constant(std::move(front), "indices");
    const ValueId whole = cast(c, scalar_of(c, length(c, v, axis)), type);
    indices = one(c, "Add", {indices, one(c, "Mul", {c.add_constant(std::move(behind), "negative"), whole})});
  } else {
    const ValueId whole =
        size ? number(c, static_cast<double>(*size), type) : cast(c, scalar_of(c, length(c, v, axis)), type);
    indices = one(c, "Add", {indices, one(c, "Mul", {is_negative(c, indices), whole})});
  }
  c.note_from_front(indices);
  return indices;
}

ValueId element_numbers(InsertContext& c, ValueId v, ValueId shape_of, int64_t axis, ValueId at) {
  const int64_t rank = rank_of(c, v);
  ValueId sum = no_id;
  for (int64_t a = 0; a < rank; ++a) {
    std::vector<int64_t> along(static_cast<size_t>(rank), 1);
    along[static_cast<size_t>(a)] = -1;
    const bool is_given = a == axis && at != no_id;
    // An axis of size 1 adds nothing to the position.
    if (!is_given && known(size_of(c, shape_of, a)) == 1) continue;
    const ValueId place =
        is_given ? cast(c, at, DataType::int64) : reshaped(c, indices_along(c, shape_of, a), along);
    const ValueId part = a + 1 == rank ? place : one(c, "Mul", {place, stride(c, v, a)});
    sum = sum == no_id ? part : one(c, "Add", {sum, part});
  }
  if (sum != no_id) return sum;
  Tensor none = zeros(DataType::int64, Shape(static_cast<size_t>(rank), 1));
  return c.add_constant(std::move(none), "numbers");
}

ValueId size_of_axes(InsertContext& c, ValueId v, int64_t from, int64_t to) {
  int64_t product = 1;
  for (int64_t a = from; a < to; ++a) {
    const auto size = known(size_of(c, v, a));
    if (!size) {
      Attributes range = with("start", from);
      range.set("end", to);
      return reduced(c, "ReduceProd", one(c, "Shape", {v}, std::move(range)), {0});
    }
    product *= *size;
  }
  return ints(c, {product});
}

ValueId sizes_of(InsertContext& c, std::vector<ValueId> sizes) {
  std::vector<int64_t> all;
  for (ValueId s : sizes)
    if (const Tensor* t = c.constant(s))
      for (int64_t i = 0; i < t->size(); ++i) all.push_back(load_int(*t, i));
  const bool known = std::ranges::all_of(sizes, [&](ValueId s) { return c.constant(s) != nullptr; });
  return known ? ints(c, all) : concat(c, std::move(sizes), 0);
}

ValueId strides_of_first(InsertContext& c, ValueId v, int64_t axis, int64_t count) {
  const ValueId product = size_of_axes(c, v, axis + 1, count);
  const Tensor* known = c.constant(product);
  return known ? int_scalar(c, load_int(*known, 0)) : scalar_of(c, product);
}

ValueId first_axes_as_one(InsertContext& c, ValueId v, int64_t count) {
  const int64_t rank = rank_of(c, v);
  std::vector<ValueId> sizes{size_of_axes(c, v, 0, count)};
  for (int64_t a = count; a < rank; ++a) sizes.push_back(size_of_axes(c, v, a, a + 1));
  return reshaped_to(c, v, sizes_of(c, std::move(sizes)));
}

ValueId tuples_as_numbers(DecomposeContext& c, ValueId v, ValueId indices, int64_t first) {
  const auto tuple = known(size_of(c, indices, -1));
  if (!tuple) unsupported("indices whose last size is known", c.type(indices).str());
  const int64_t last = rank_of(c, indices) - 1, end = first + *tuple;
  ValueId sum = no_id;
  for (int64_t k = 0; k < *tuple; ++k) {
    const ValueId part =
        one(c, "Squeeze", {sliced(c, indices, ints(c, {k}), ints(c, {k + 1}), last), ints(c, {last})});
    const auto size = known(size_of(c, v, first + k));
    const ValueId whole = size ? int_scalar(c, *size) : scalar_of(c, length(c, v, first + k));
    const ValueId front = one(c, "Add", {part, one(c, "Mul", {is_negative(c, part), whole})});
    const ValueId far = one(c, "Mul", {front, strides_of_first(c, v, first + k, end)});
    sum = sum == no_id ? far : one(c, "Add", {sum, far});
  }
  if (sum == no_id) unsupported("tuples of indices that are not empty", c.type(indices).str());
  return sum;
}

ValueId gathered(DecomposeContext& c, ValueId v, ValueId at, int64_t axis) {
  if (!c.constant(at)) c.note_from_front(at);
  return one(c, "Gather", {v, at}, with("axis", axis));
}

ValueId axis_hits(InsertContext& c, ValueId axes, int64_t rank) {
  std::vector<int64_t> front(static_cast<size_t>(rank)), end = front;
  std::iota(front.begin(), front.end(), 0);
  std::iota(end.begin(), end.end(), -rank);
  const ValueId each = reshaped(c, cast(c, axes, DataType::int64), {-1, 1});
  const auto are = [&](const std::vector<int64_t>& all) { return one(c, "Equal", {each, ints(c, all)}); };
  return cast(c, one(c, "Or", {are(front), are(end)}), DataType::int64);
}

ValueId axis_flags(InsertContext& c, ValueId axes, int64_t rank) {
  const ValueId counts = reduced(c, "ReduceSum", axis_hits(c, axes, rank), {0}, false);
  return cast(c, cast(c, counts, DataType::boolean), DataType::int64);
}

ValueId sizes_left(DecomposeContext& c, ValueId sizes, ValueId flags, int64_t rank,
                   std::optional<int64_t> left) {
  const ValueId stay = one(c, "Sub", {int_scalar(c, 1), flags});
  if (c.opset() >= 9)
    return one(c, "Compress", {sizes, cast(c, stay, DataType::boolean)}, with("axis", int64_t{0}));
  if (!left) unsupported("a known number of axes", "one that a run computes");
  if (*left == 0) return ints(c, {});
  // The places that stay are the greatest numbers, the first of them before the others.
  std::vector<int64_t> from_end(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) from_end[static_cast<size_t>(i)] = rank - 1 - i;
  const ValueId order = one(c, "Add", {times(c, stay, static_cast<double>(rank)), ints(c, from_end)});
  const ValueId found =
      c.insert("TopK", {cast(c, order, DataType::float32), ints(c, {*left})}, with("axis", int64_t{0}), 2)[1];
  return gathered(c, sizes, found, 0);
}

ValueId reshaped_surely(InsertContext& c, ValueId v, ValueId sizes, ValueId whole) {
  const auto& shape = c.type(whole).shape;
  const bool none_is_0 =
      shape && std::ranges::all_of(*shape, [](const Dim& d) { return surely_at_least(d, 1); });
  return none_is_0 ? one(c, "Reshape", {v, sizes}) : reshaped_to(c, v, sizes);
}

namespace {

/// Chooses among the axes from `first` on; `axis` is a scalar of int64.
ValueId choose_axis(DecomposeContext& c, ValueId axis, int64_t rank, int64_t first, int64_t end,
                    const std::vector<ValueId>& operands, AtAxis make) {
  if (first + 1 == end) return make(c, operands, first);
  const auto is = [&](int64_t a) { return one(c, "Equal", {axis, int_scalar(c, a)}); };
  const ValueId here = one(c, "Or", {is(first), is(first - rank)});
  const auto branch = [&](auto&& fill) {
    auto body = std::make_shared<Graph>(&c.graph());
    std::vector<ValueId> inner;
    for (ValueId v : operands) inner.push_back(v == no_id ? no_id : body->capture(v));
    body->set_outputs({fill(*c.inside(*body), inner, *body)});
    return body;
  };
  const auto taken = branch([&](DecomposeContext& in, const std::vector<ValueId>& inner, Graph&) {
    return make(in, inner, first);
  });
  const auto other = branch([&](DecomposeContext& in, const std::vector<ValueId>& inner, Graph& body) {
    return choose_axis(in, body.capture(axis), rank, first + 1, end, inner, make);
  });
  return c.insert_with_bodies("If", {here}, {}, {{"else_branch", other}, {"then_branch", taken}}, 1)[0];
}

}  // namespace

ValueId for_computed_axis(DecomposeContext& c, ValueId axis, int64_t end, std::vector<ValueId> operands,
                          AtAxis make) {
  const ValueId scalar = one(c, "Reshape", {cast(c, axis, DataType::int64), ints(c, {})});
  return choose_axis(c, scalar, rank_of(c, operands[0]), 0, end, operands, make);
}

namespace {

/// A type of the oldest opsets that holds all that `t` does.
DataType wider(DataType t) {
  switch (t) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::int16:
      return DataType::int32;
    case DataType::uint16:
      return DataType::int64;
    default:
      return computed_in(t);
  }
}

}  // namespace

std::vector<ValueId> in_wider_types(DecomposeContext& c) {
  const Node node = c.node();
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& v : inputs)
    if (v != no_id && c.type(v).is_tensor()) v = cast(c, v, wider(elem_of(c, v)));
  if (inputs == node.inputs) unsupported({}, {});
  std::vector<ValueId> made = c.insert(node.op, std::move(inputs), node.attributes, node.outputs.size());
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = node.outputs[i] == no_id ? no_id : cast(c, made[i], elem_of(c, node.outputs[i]));
  return made;
}

}  // namespace lathe::node_builder
