// x + 0, x - 0, x * 1, x / 1, x ^ 1.
#include "passes/pass.h"

namespace lathe {
namespace {

std::optional<Patch> propose_eliminate_neutral(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const double neutral = n.op == "Add" || n.op == "Sub" ? 0 : 1;
  const bool commutes = n.op == "Add" || n.op == "Mul";
  for (size_t i : {size_t{1}, size_t{0}}) {
    const ValueId kept = n.inputs[1 - i];
    if ((i == 1 || commutes) && view.uniform(n.inputs[i]) == neutral && view.same_type(kept, n.outputs[0]))
      return forward(view, id, kept, n.op + " with its neutral element");
  }
  return std::nullopt;
}

}  // namespace

void pass_eliminate_neutral(PassList& all) {
  all.push_back({.name = "eliminate-neutral",
                 .description = "removes x + 0, x - 0, x * 1, x / 1 and x ^ 1",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Add", "Sub", "Mul", "Div", "Pow"},
                 .propose = propose_eliminate_neutral});
}

}  // namespace lathe
