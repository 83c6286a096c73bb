// LSTM, GRU and RNN with the batch before the steps (layout 1) become those with the steps first, between
// transpositions, which may meet others: other runtimes do not support layout 1.
#include "passes/patterns.h"

namespace lathe {
namespace {

std::optional<Patch> propose_steps_first(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.attributes.get<int64_t>("layout", 0) != 1) return std::nullopt;
  Patch p("the batch comes before the steps");
  Operands inputs = n.inputs;
  for (size_t i : {size_t{0}, size_t{5}, size_t{6}})  // X, initial_h, initial_c
    if (i < inputs.size() && inputs[i] != no_id) inputs.set(i, add_transpose(p, inputs[i], {1, 0, 2}));
  Attributes a = n.attributes;
  a.set("layout", int64_t{0});
  const std::vector<ValueId> made = p.add_node(n.op, std::move(inputs), n.outputs.size(), std::move(a));
  for (size_t i = 0; i < made.size(); ++i)
    if (n.outputs[i] != no_id)
      p.replace_uses(n.outputs[i],
                     i == 0 ? add_transpose(p, made[i], {2, 0, 1, 3}) : add_transpose(p, made[i], {1, 0, 2}));
  p.remove(id);
  return p;
}

}  // namespace

void pass_steps_first(PassList& all) {
  all.push_back({.name = "steps-first",
                 .description = "puts the steps of recurrent networks before the batch",
                 .level = OptimizationLevel::basic,
                 .anchors = {"LSTM", "GRU", "RNN"},
                 .propose = propose_steps_first});
}

}  // namespace lathe
