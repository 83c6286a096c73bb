#include "passes/patch_applier.h"

namespace lathe {
namespace {

/// Checks that nothing known of a value changes when another replaces it.
void check_same(Graph& g, ValueId from, ValueId to) {
  const ValueType &before = g.value(from).type, &now = g.value(to).type;
  const std::optional<ValueType> both = refine(now, before);
  if (!both) throw Error(Code::internal, "optimize", before.str(), now.str());
  if (!g.value(to).is_input && !g.value(to).constant) g.value(to).type = *both;
}

}  // namespace

Patch::Staged PatchApplier::stage(const Patch& patch, Graph& g) {
  Patch::Staged staged = patch.stage(g);
  try {
    for (NodeId n : staged.added) {
      if (!schemas_.find(g.node(n).domain, g.node(n).op))
        throw Error(Code::internal, "optimize", "an operator that there is", g.node(n).op);
      infer_node(g, n, schemas_, state_);
    }
    for (const auto& [from, to] : staged.replaced) check_same(g, from, to);
  } catch (const std::exception&) {
    take_back(patch, staged, g);
    throw;
  }
  return staged;
}

void PatchApplier::take_back(const Patch& patch, const Patch::Staged& staged, Graph& g) {
  for (auto v = static_cast<ValueId>(staged.first_value); v < g.value_count(); ++v)
    state_.forget_values(g, v);
  patch.take_back(g, staged);
}

}  // namespace lathe
