// Removes nodes that return their input.
#include <algorithm>

#include "ops/transpose/transpose.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool all_are(const std::optional<std::vector<int64_t>>& list, int64_t value) {
  return list && std::ranges::all_of(*list, [&](int64_t x) { return x == value; });
}

/// Returns whether the elements keep their order and number, given that the type stays.
bool keeps_elements(const View& view, const Node& n) {
  if (n.op == "Transpose") {
    const auto rank = view.rank(n.inputs[0]);
    const Shape axes = decode<Transpose>(n.attributes).order(rank.value_or(0));
    return rank && std::ranges::is_sorted(axes);
  }
  if (n.op == "Slice")  // of equal size, so with steps of 1 nothing is left out
    return n.inputs.size() < 5 || n.inputs[4] == no_id || all_are(view.integers(n.inputs[4]), 1);
  if (n.op == "Pad") return all_are(view.integers(n.inputs[1]), 0);
  if (n.op == "Tile") return all_are(view.integers(n.inputs[1]), 1);
  if (n.op == "Dropout")  // training is known to be off
    return (n.outputs.size() < 2 || n.outputs[1] == no_id) &&
           (n.inputs.size() < 3 || n.inputs[2] == no_id || view.uniform(n.inputs[2]) == 0.0);
  if (n.op == "Concat" || n.op == "Sum" || n.op == "Max" || n.op == "Min" || n.op == "Mean")
    return n.inputs.size() == 1;
  if (n.op == "Split") return n.outputs.size() == 1;
  return true;  // Identity, Cast, Reshape, Flatten, Squeeze, Unsqueeze, Expand
}

std::optional<Patch> propose_eliminate_identity(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const ValueId from = n.inputs[0], to = n.outputs[0];
  if (from == no_id) return std::nullopt;
  if (n.op != "Identity" && !(view.same_type(from, to) && keeps_elements(view, n))) return std::nullopt;
  return forward(view, id, from, n.op + " that changes nothing");
}

/// If the result of a node is only copied to be an output, the node makes the output. Outputs keep their
/// names, so the node is made anew.
std::optional<Patch> make_output(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const ValueId from = n.inputs[0], to = n.outputs[0];
  const NodeId producer = view.producer(from);
  if (producer == no_id || !view.is_output(to) || view.is_output(from) || !view.type(from).is_tensor())
    return std::nullopt;
  const Node& made = view.node(producer);
  if (!made.bodies.empty() || std::ranges::count(made.outputs, no_id) > 0) return std::nullopt;
  Patch p("what " + made.op + " makes is the output");
  const std::vector<ValueId> results =
      p.add_node(made.op, made.inputs, made.outputs.size(), made.attributes, made.domain);
  for (size_t i = 0; i < results.size(); ++i) {
    p.replace_uses(made.outputs[i], results[i]);
    if (made.outputs[i] == from) p.replace_uses(to, results[i]);
  }
  p.remove(id);
  p.remove(producer);
  return p;
}

}  // namespace

void pass_eliminate_identity(PassList& all) {
  all.push_back(
      {.name = "eliminate-identity",
       .description = "removes nodes that give back what they get",
       .level = OptimizationLevel::basic,
       .anchors = {"Identity", "Cast", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand",
                   "Slice", "Pad", "Tile", "Dropout", "Concat", "Sum", "Max", "Min", "Mean", "Split"},
       .propose = propose_eliminate_identity});
  all.push_back({.name = "eliminate-output-copy",
                 .description = "lets a node make an output itself where an Identity would copy its result",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Identity"},
                 .propose = make_output});
}

}  // namespace lathe
