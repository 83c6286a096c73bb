// Merges a Transpose with one before it, and a Reshape with any change of shape before it.
#include <algorithm>

#include "ops/transpose/transpose.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

std::optional<Patch> merge_transposes(const View& view, NodeId id) {
  const Node& outer = view.node(id);
  const Node* inner = view.made_by(outer.inputs[0], "Transpose");
  const auto rank = view.rank(outer.inputs[0]);
  if (!inner || !rank) return std::nullopt;
  const Shape first = decode<Transpose>(inner->attributes).order(*rank),
              then = decode<Transpose>(outer.attributes).order(*rank);
  std::vector<int64_t> perm;
  for (int64_t axis : then) perm.push_back(first[static_cast<size_t>(axis)]);
  Patch p("two transpositions are one");
  const bool undone = std::ranges::is_sorted(perm);
  Attributes attributes;
  if (!undone) attributes.set("perm", std::move(perm));
  // An Identity remains: it may make an output of the graph.
  p.replace_uses(outer.outputs[0],
                 p.add(undone ? "Identity" : "Transpose", {inner->inputs[0]}, std::move(attributes)));
  p.remove(id);
  return p;
}

/// Removes two changes of shape whose result has the first shape again.
std::optional<Patch> undo_reshapes(const View& view, NodeId id) {
  const Node& outer = view.node(id);
  const NodeId at = view.producer(outer.inputs[0]);
  if (at == no_id || !keeps_order(view.node(at))) return std::nullopt;
  const ValueId from = view.node(at).inputs[0];
  if (!view.same_type(from, outer.outputs[0])) return std::nullopt;
  return forward(view, id, from, "of the shape that it had before");
}

std::optional<Patch> merge_reshapes(const View& view, NodeId id) {
  const Node& outer = view.node(id);
  const NodeId at = view.producer(outer.inputs[0]);
  if (at == no_id) return std::nullopt;
  const Node& inner = view.node(at);
  if (!keeps_order(inner)) return std::nullopt;
  // A 0 would copy a size from the shape in between.
  const auto shape = view.integers(outer.inputs[1]);
  if (!shape || std::ranges::count(*shape, 0)) return std::nullopt;
  Patch p("the shape in between does not matter");
  p.replace_uses(outer.outputs[0], p.add("Reshape", {inner.inputs[0], outer.inputs[1]}, outer.attributes));
  p.remove(id);
  return p;
}

}  // namespace

void pass_merge_movements(PassList& all) {
  all.push_back({.name = "merge-transposes",
                 .description = "turns two transpositions in a row into one",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Transpose"},
                 .propose = merge_transposes});
  all.push_back({.name = "undo-reshapes",
                 .description = "removes two changes of shape of which the second undoes the first",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"},
                 .propose = undo_reshapes});
  all.push_back({.name = "merge-reshapes",
                 .description = "leaves out changes of shape that another one follows",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Reshape"},
                 .propose = merge_reshapes});
}

}  // namespace lathe
