// Gathers by known indices that follow each other become slices, which need no copy along the first axis.
// Gathers of all elements of an axis, one by one, become a Split.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// The elements that a Gather takes by known indices along an axis of known size.
struct Taken {
  int64_t axis = 0, size = 0;    // from the front
  std::vector<int64_t> indices;  // from 0 on
  bool scalar = false;           // the axis is removed
};
std::optional<Taken> taken(const View& view, const Node& n) {
  const auto& shape = view.type(n.inputs[0]).shape;
  const auto rank = view.rank(n.inputs[1]);
  auto indices = view.integers(n.inputs[1]);
  // Gathers from lists stay: inference of shapes follows them.
  if (!shape || shape->size() < 2 || !rank || *rank > 1 || !indices || indices->empty()) return std::nullopt;
  Taken t;
  t.axis = n.attributes.get<int64_t>("axis", 0);
  t.scalar = *rank == 0;
  if (t.axis < 0) t.axis += static_cast<int64_t>(shape->size());
  const auto size = (*shape)[static_cast<size_t>(t.axis)].value();
  if (!size) return std::nullopt;
  t.size = *size;
  for (int64_t& i : *indices) {
    if (i < 0) i += t.size;
    if (i < 0 || i >= t.size) return std::nullopt;
  }
  t.indices = std::move(*indices);
  return t;
}

std::optional<Patch> slice(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto t = taken(view, n);
  if (!t || t->scalar || view.is_constant(n.inputs[0])) return std::nullopt;
  for (size_t i = 1; i < t->indices.size(); ++i)
    if (t->indices[i] != t->indices[i - 1] + 1) return std::nullopt;
  Patch p("indices that follow each other");
  p.replace_uses(n.outputs[0],
                 p.add("Slice", {n.inputs[0], p.add_constant("starts", ints({t->indices.front()})),
                                 p.add_constant("ends", ints({t->indices.back() + 1})),
                                 p.add_constant("axes", ints({t->axis}))}));
  p.remove(id);
  return p;
}

/// If all readers of a value gather one element of the same axis, and together they take all, they become
/// parts of a Split.
std::optional<Patch> split_gathers(const View& view, NodeId id) {
  const ValueId x = view.node(id).inputs[0];
  const auto first = taken(view, view.node(id));
  if (!first || !first->scalar || view.is_constant(x) || view.is_output(x)) return std::nullopt;
  std::vector<NodeId> readers(static_cast<size_t>(first->size), no_id);
  for (const Use& use : view.uses(x)) {
    if (use.input != 0 || !View::is(view.node(use.node), "Gather")) return std::nullopt;
    const auto t = taken(view, view.node(use.node));
    if (!t || !t->scalar || t->axis != first->axis) return std::nullopt;
    NodeId& reader = readers[static_cast<size_t>(t->indices[0])];
    if (reader != no_id) return std::nullopt;
    reader = use.node;
  }
  if (readers.size() < 2 || std::ranges::count(readers, no_id) > 0) return std::nullopt;
  Patch p("all elements of an axis, one by one");
  Attributes along;
  along.set("axis", first->axis);
  const std::vector<ValueId> parts =
      p.add_node("Split", {x, p.add_constant("split", ints(std::vector<int64_t>(readers.size(), 1)))},
                 readers.size(), std::move(along));
  const ValueId axes = p.add_constant("axes", ints({first->axis}));
  for (size_t i = 0; i < readers.size(); ++i) {
    p.replace_uses(view.node(readers[i]).outputs[0], p.add("Squeeze", {parts[i], axes}));
    p.remove(readers[i]);
  }
  return p;
}

}  // namespace

void pass_gathers(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "gather-to-slice",
                 .description = "slices where a Gather takes neighbors",
                 .level = level,
                 .anchors = {"Gather"},
                 .propose = slice});
  all.push_back({.name = "gathers-to-split",
                 .description = "splits what several Gathers take one by one",
                 .level = level,
                 .anchors = {"Gather"},
                 .propose = split_gathers});
}

}  // namespace lathe
