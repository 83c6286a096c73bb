// Nodes that give back what they get.
#include <algorithm>

#include "ops/transpose/transpose.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool all_are(const std::optional<std::vector<int64_t>>& list, int64_t value) {
  return list && std::ranges::all_of(*list, [&](int64_t x) { return x == value; });
}

/// Whether the elements keep their order and number, given that the type stays.
bool keeps_elements(const View& view, const Node& n) {
  if (n.op == "Transpose") {
    const auto rank = view.rank(n.inputs[0]);
    const Shape axes = decode<Transpose>(n.attributes).order(rank.value_or(0));
    return rank && std::ranges::is_sorted(axes);
  }
  if (n.op == "Slice")  // of equal size, so with steps of 1 nothing is left out
    return n.inputs.size() < 5 || n.inputs[4] == no_id || all_are(view.integers(n.inputs[4]), 1);
  if (n.op == "Pad") return all_are(view.integers(n.inputs[1]), 0);
  if (n.op == "Dropout")  // training is known to be off
    return (n.outputs.size() < 2 || n.outputs[1] == no_id) &&
           (n.inputs.size() < 3 || n.inputs[2] == no_id || view.uniform(n.inputs[2]) == 0.0);
  if (n.op == "Concat" || n.op == "Sum" || n.op == "Max" || n.op == "Min" || n.op == "Mean")
    return n.inputs.size() == 1;
  if (n.op == "Split") return n.outputs.size() == 1;
  return true;  // Identity, Cast, Reshape, Flatten, Squeeze, Unsqueeze, Expand
}

std::optional<Patch> propose(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const ValueId from = n.inputs[0], to = n.outputs[0];
  if (from == no_id) return std::nullopt;
  if (n.op != "Identity" && !(view.same_type(from, to) && keeps_elements(view, n))) return std::nullopt;
  return forward(view, id, from, n.op + " that changes nothing");
}

}  // namespace

void pass_eliminate_identity(PassList& all) {
  all.push_back(
      {.name = "eliminate-identity",
       .says = "removes nodes that give back what they get",
       .level = OptimizationLevel::basic,
       .anchors = {"Identity", "Cast", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand",
                   "Slice", "Pad", "Dropout", "Concat", "Sum", "Max", "Min", "Mean", "Split"},
       .propose = propose});
}

}  // namespace lathe
