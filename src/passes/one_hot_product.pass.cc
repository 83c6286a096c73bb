// Rows of a table that are picked by a product with rows of zeros and a one, as in embeddings of TensorFlow
// and networks over characters, become a Gather. A row without a one, for an invalid index, gives zeros.
#include <cmath>
#include <cstring>

#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// A OneHot of zeros and ones along the last axis.
struct Picked {
  ValueId indices = no_id;
  int64_t depth = 0;
};
std::optional<Picked> picked(const View& view, ValueId v) {
  const Node* n = view.made_by(v, "OneHot");
  if (!n || !view.read_once(v)) return std::nullopt;
  const auto rank = view.rank(v);
  const auto axis = n->attributes.get<int64_t>("axis", -1);
  const Tensor* values = view.contents(n->inputs[2]);
  if (!rank || (axis != -1 && axis != static_cast<int64_t>(*rank) - 1) || !values || values->size() != 2 ||
      load_double(*values, 0) != 0 || load_double(*values, 1) != 1)
    return std::nullopt;
  const auto depth = view.type(v).shape->back().value();
  return depth ? std::optional(Picked{n->inputs[0], *depth}) : std::nullopt;
}

/// Returns whether all elements are finite: others times zero would not be zero.
bool all_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.size(); ++i)
    if (!std::isfinite(load_double(t, i))) return false;
  return true;
}

std::optional<Patch> gather(const View& view, NodeId id) {
  const Node& n = view.node(id);
  ValueId rows = n.inputs[0];
  const ValueId table = n.inputs[1];
  const Tensor* numbers = view.contents(table);
  const DataType type = view.type(table).elem;
  if (!numbers || numbers->rank() != 2 || (!fits_float32(type) && type != DataType::float64))
    return std::nullopt;
  const Node* reshape = view.made_by(rows, "Reshape");
  if (reshape) {
    if (!view.read_once(rows) || view.rank(rows) != 2 ||
        view.type(rows).shape->back() != Dim(numbers->dim(0)))
      return std::nullopt;
    rows = reshape->inputs[0];
  }
  const auto from = picked(view, rows);
  if (!from || from->depth != numbers->dim(0) || !all_finite(*numbers)) return std::nullopt;
  Patch p("rows picked by a product");
  const auto number = [&](int64_t v) { return p.add_constant("index", Tensor::scalar(v)); };
  Attributes to, along;
  to.set("to", static_cast<int64_t>(DataType::int64));
  along.set("axis", int64_t{0});
  const ValueId zero = number(0), depth = number(from->depth),
                given = p.add("Cast", {from->indices}, std::move(to));
  // Indices may count from the end, too; a row of zeros follows the last row.
  const ValueId at = p.add("Where", {p.add("Less", {given, zero}), p.add("Add", {given, depth}), given});
  const ValueId is_one = p.add("And", {p.add("GreaterOrEqual", {at, zero}), p.add("Less", {at, depth})});
  ValueId index = p.add("Where", {is_one, at, depth});
  if (reshape) index = p.add("Reshape", {index, p.add_constant("flat", ints({-1}))});
  Tensor none(type, {1, numbers->dim(1)});
  std::memset(none.data(), 0, none.bytes());
  const ValueId all = p.add("Concat", {table, p.add_constant("none", none)}, along);
  p.replace_uses(n.outputs[0], p.add("Gather", {all, index}, along));
  p.remove(id);
  return p;
}

}  // namespace

void pass_one_hot_product(PassList& all) {
  all.push_back({.name = "one-hot-product",
                 .description = "gathers rows that products with zeros and a one would pick",
                 .level = OptimizationLevel::extended,
                 .anchors = {"MatMul"},
                 .propose = gather});
}

}  // namespace lathe
