// The initializers that are built into an engine when the others may be exchanged later: those whose contents
// decide shapes (axes, sizes, pads), and those that the optimizer has used up.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/fold.h"
#include "plan/plan.h"

namespace lathe {

struct Initializer {
  std::string name;
  std::shared_ptr<const Value> value;
};
/// Returns those that something reads, in bodies as well.
std::vector<Initializer> initializers(const Graph& graph);

/// Returns the constants whose contents inference used for shapes or known contents, directly or through what
/// was folded from them, and small ones of int64 or bool, whatever their purpose. Infers the graph's types
/// and shapes anew.
std::set<const Value*> deciding_shapes(Graph& graph, const Folds& folds, const SchemaCatalog& schemas);

/// The weights that refitting cannot exchange, as the plan lists them: of `all`, those that are in
/// `deciding`, and those that are no source of any of its arrays.
std::vector<BuiltInWeight> built_in_weights(const Plan& plan, const std::vector<Initializer>& all,
                                            const std::set<const Value*>& deciding);

}  // namespace lathe
