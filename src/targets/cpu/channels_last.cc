#include "targets/cpu/channels_last.h"

#include <algorithm>
#include <optional>

#include "compiler/makers.h"
#include "cpu/nchw16c.h"

namespace lathe {
namespace {

/// The number of groups if a Reshape turns [N, C, spatial axes] into [N, groups, C / groups, spatial axes].
std::optional<int64_t> groups(const Graph& g, const Node& reshape) {
  const auto &from = g.value(reshape.inputs[0]).type.shape, &to = g.value(reshape.outputs[0]).type.shape;
  if (!from || !to || from->size() < 2 || to->size() != from->size() + 1) return std::nullopt;
  const auto all = (*from)[1].value(), outer = (*to)[1].value(), inner = (*to)[2].value();
  if (!all || !outer || !inner || *outer < 1 || *outer * *inner != *all || !((*from)[0] == (*to)[0]) ||
      !std::equal(from->begin() + 2, from->end(), to->begin() + 3))
    return std::nullopt;
  return outer;
}

/// Returns whether a Transpose puts `axis` last and leaves the others in order.
bool puts_last(const Node& transpose, size_t rank, size_t axis) {
  const auto order = transpose.attributes.get<std::vector<int64_t>>("perm", {});
  if (order.size() != rank || order.back() != static_cast<int64_t>(axis)) return false;
  return std::is_sorted(order.begin(), order.end() - 1);
}

/// The Unblock whose image a Transpose moves to channels last, and the number of groups of channels: 0 if
/// there is no axis of groups.
struct Source {
  const Node* unblock;
  int64_t groups;
};
std::optional<Source> source(const Graph& g, const Node& transpose) {
  const ValueId moved = transpose.inputs[0];
  const auto& shape = g.value(moved).type.shape;
  if (!shape || g.value(moved).type.elem != DataType::float32) return std::nullopt;
  Source s{.unblock = made_by(g, moved, "Unblock", "lathe"), .groups = 0};
  if (const Node* reshape = made_by(g, moved, "Reshape")) {
    const auto some = groups(g, *reshape);
    if (!some) return std::nullopt;
    s = {.unblock = made_by(g, reshape->inputs[0], "Unblock", "lathe"), .groups = *some};
  }
  return s.unblock && puts_last(transpose, shape->size(), s.groups ? 2 : 1) ? std::optional(s) : std::nullopt;
}

/// Returns the Split of the last axis that alone reads a value, if its parts have known sizes and are few
/// enough for one kernel; else no_id.
NodeId split_of(const Graph& g, ValueId v, const std::vector<Use>& uses) {
  if (uses.size() != 1 || g.is_output(v)) return no_id;
  const Node& n = g.node(uses[0].node);
  const auto rank = static_cast<int64_t>(g.value(v).type.shape->size());
  const int64_t axis = n.attributes.get<int64_t>("axis", 0);
  if (!n.domain.empty() || n.op != "Split" || uses[0].input != 0 ||
      (axis < 0 ? axis + rank : axis) != rank - 1 || n.outputs.size() > cpu::max_channel_slices)
    return no_id;
  const auto known = [&](ValueId part) {
    return part != no_id && g.value(part).type.shape && g.value(part).type.shape->back().value();
  };
  return std::ranges::all_of(n.outputs, known) ? uses[0].node : no_id;
}

}  // namespace

void use_channels_last(Graph& g) {
  const std::vector<std::vector<Use>> uses = g.uses();
  for (NodeId id = 0, end = static_cast<NodeId>(g.node_count()); id < end; ++id) {
    if (!g.node(id).alive || !g.node(id).domain.empty() || g.node(id).op != "Transpose") continue;
    const auto from = source(g, g.node(id));
    if (!from) continue;
    // The node is added behind all others, right before those that read it: convolutions in between would
    // find the third-level cache full of its result (2 % of a detector's time, for a tenth more memory).
    Node n = g.node(id);
    n.domain = "lathe";
    n.op = "ChannelsLast";
    n.inputs = from->unblock->inputs;
    n.attributes = from->unblock->attributes;
    n.attributes.set("groups", from->groups);
    if (const NodeId split = split_of(g, n.outputs[0], uses[n.outputs[0]]); split != no_id) {
      n.outputs = g.node(split).outputs;
      std::vector<int64_t> sizes;
      for (ValueId v : n.outputs) sizes.push_back(*g.value(v).type.shape->back().value());
      n.attributes.set("split", std::move(sizes));
      g.remove_node(split);
    }
    g.remove_node(id);
    g.add_node(std::move(n));
  }
}

}  // namespace lathe
