#include "schema/words.h"

#include <cmath>
#include <cstring>

namespace lathe::words {

void unsaid(std::string expected, std::string got) {
  throw Error(Code::node_cannot_convert, "export", std::move(expected), std::move(got));
}

DataType elem_of(const RewriteContext& c, ValueId v) {
  const ValueType& t = c.type(v);
  if (!t.is_tensor() || t.elem == DataType::undefined) unsaid("tensors of known types", t.str());
  return t.elem;
}

int64_t rank_of(const RewriteContext& c, ValueId v) {
  const ValueType& t = c.type(v);
  if (!t.shape) unsaid("tensors of known rank", t.str());
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

namespace {

/// From `first` on; `axis` is a scalar of int64.
ValueId choose_axis(SpellContext& c, ValueId axis, int64_t rank, int64_t first, int64_t end,
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
  const auto taken = branch(
      [&](SpellContext& in, const std::vector<ValueId>& inner, Graph&) { return make(in, inner, first); });
  const auto other = branch([&](SpellContext& in, const std::vector<ValueId>& inner, Graph& body) {
    return choose_axis(in, body.capture(axis), rank, first + 1, end, inner, make);
  });
  return c.insert_with_bodies("If", {here}, {}, {{"else_branch", other}, {"then_branch", taken}}, 1)[0];
}

}  // namespace

ValueId for_computed_axis(SpellContext& c, ValueId axis, int64_t end, std::vector<ValueId> operands,
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

std::vector<ValueId> in_wider_types(SpellContext& c) {
  const Node node = c.node();
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& v : inputs)
    if (v != no_id && c.type(v).is_tensor()) v = cast(c, v, wider(elem_of(c, v)));
  if (inputs == node.inputs) unsaid({}, {});
  std::vector<ValueId> made = c.insert(node.op, std::move(inputs), node.attributes, node.outputs.size());
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = node.outputs[i] == no_id ? no_id : cast(c, made[i], elem_of(c, node.outputs[i]));
  return made;
}

}  // namespace lathe::words
