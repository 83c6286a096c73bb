// Equal constants become one: tied weights are stored once, and so are results computed from them.
#include "passes/pass.h"

namespace lathe {
namespace {

std::optional<Patch> propose_share_constants(const View& view, NodeId id) {
  for (ValueId v : view.node(id).inputs) {
    const ValueId first = view.first_like(v);
    if (first == v || view.is_output(v)) continue;
    Patch p("the constant '" + view.graph().value(first).name + "' holds the same");
    p.replace_uses(v, first);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_share_constants(PassList& all) {
  all.push_back({.name = "share-constants",
                 .description = "keeps one of constants that are equal",
                 .level = OptimizationLevel::basic,
                 .anchors = {},
                 .propose = propose_share_constants});
}

}  // namespace lathe
