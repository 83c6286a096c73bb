// Small identities: a division instead of a product with a reciprocal, Where without Not, Clip without Relu,
// sizes without Cast.
#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// (1 / y) * x.
std::optional<Patch> reciprocal(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    ValueId y = no_id;
    if (const Node* div = view.made_by(n.inputs[i], "Div"); div && view.uniform(div->inputs[0]) == 1.0)
      y = div->inputs[1];
    if (const Node* inverse = view.made_by(n.inputs[i], "Reciprocal")) y = inverse->inputs[0];
    // With integers, 1 / y is rounded first. Statistics, one for a row, are cheaper to invert than to divide
    // by.
    if (y == no_id || !view.read_once(n.inputs[i]) || !is_float(view.type(y).elem) ||
        !view.same_type(y, n.inputs[i]) || !view.same_type(y, n.outputs[0]))
      continue;
    Patch p("a product with 1 / y is a division");
    p.replace_uses(n.outputs[0], p.add("Div", {n.inputs[1 - i], y}));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> where_not(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* negated = view.made_by(n.inputs[0], "Not");
  if (!negated) return std::nullopt;
  Patch p("the other way round without Not");
  p.replace_uses(n.outputs[0], p.add("Where", {negated->inputs[0], n.inputs[2], n.inputs[1]}));
  p.remove(id);
  return p;
}

std::optional<Patch> double_not(const View& view, NodeId id) {
  const Node* inner = view.made_by(view.node(id).inputs[0], "Not");
  return inner ? forward(view, id, inner->inputs[0], "not not") : std::nullopt;
}

/// If the condition of Where is the same for all elements, takes what it chooses, as it is or broadcast.
std::optional<Patch> where_known(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto condition = view.uniform(n.inputs[0]);
  if (!condition) return std::nullopt;
  const ValueId chosen = n.inputs[*condition != 0 ? 1 : 2];
  const std::string reason = *condition != 0 ? "its condition is true" : "its condition is false";
  Patch p(reason);
  p.remove(id);
  if (view.same_type(chosen, n.outputs[0])) {
    if (auto whole = forward(view, id, chosen, reason)) return whole;
    p.replace_uses(n.outputs[0], p.add("Identity", {chosen}));
    return p;
  }
  const auto& shape = view.type(n.outputs[0]).shape;
  if (!shape || !std::ranges::all_of(*shape, &Dim::is_constant)) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& d : *shape) sizes.push_back(d.constant());
  p.replace_uses(n.outputs[0], p.add("Expand", {chosen, p.add_constant("shape", ints(std::move(sizes)))}));
  return p;
}

/// Clip of Relu, if the lower bound of the Clip is a known number.
std::optional<Patch> clip_relu(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* relu = view.made_by(n.inputs[0], "Relu");
  if (!relu || !view.read_once(n.inputs[0])) return std::nullopt;
  const bool open = n.inputs.size() < 2 || n.inputs[1] == no_id;
  const auto least = open ? std::optional(0.0) : view.uniform(n.inputs[1]);
  const bool ends = n.inputs.size() > 2 && n.inputs[2] != no_id;
  const auto most = ends ? view.uniform(n.inputs[2]) : std::nullopt;
  if (!least || (ends && !most)) return std::nullopt;
  Patch p("Clip from 0 on does what Relu does");
  Operands inputs = n.inputs;
  inputs.set(0, relu->inputs[0]);
  if (ends && *most < 0) {
    // Every x gives this result. Other runtimes refuse a Clip from 0 to a negative bound.
    inputs.set(1, inputs[2]);
  } else if (open || *least < 0) {
    Tensor zero(view.type(n.inputs[0]).elem, {});
    store_double(zero, 0, 0);
    inputs.resize(std::max<size_t>(inputs.size(), 2));
    inputs.set(1, p.add_constant("zero", std::move(zero)));
  }
  p.replace_uses(n.outputs[0], p.add("Clip", std::move(inputs)));
  p.remove(id);
  return p;
}

std::optional<Patch> shape_of_cast(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* cast = view.made_by(n.inputs[0], "Cast");
  if (!cast || !view.type(cast->inputs[0]).is_tensor()) return std::nullopt;
  Patch p("Cast keeps the shape");
  p.replace_uses(n.outputs[0], p.add(n.op, {cast->inputs[0]}, n.attributes));
  p.remove(id);
  return p;
}

}  // namespace

void pass_simplify(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "divide-at-once",
                 .description = "divides instead of multiplying with a reciprocal",
                 .level = level,
                 .anchors = {"Mul"},
                 .propose = reciprocal});
  all.push_back({.name = "where-without-not",
                 .description = "exchanges the branches of Where instead of negating its condition",
                 .level = level,
                 .anchors = {"Where"},
                 .propose = where_not});
  all.push_back({.name = "where-known",
                 .description = "takes what Where chooses by a condition that is known",
                 .level = level,
                 .anchors = {"Where"},
                 .propose = where_known});
  all.push_back({.name = "double-not",
                 .description = "removes Not of Not",
                 .level = level,
                 .anchors = {"Not"},
                 .propose = double_not});
  all.push_back({.name = "clip-without-relu",
                 .description = "clips from 0 on instead of after Relu",
                 .level = level,
                 .anchors = {"Clip"},
                 .propose = clip_relu});
  all.push_back({.name = "shape-without-cast",
                 .description = "takes the shape of what a Cast gets",
                 .level = level,
                 .anchors = {"Shape", "Size"},
                 .propose = shape_of_cast});
}

}  // namespace lathe
