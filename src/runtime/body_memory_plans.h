// Memory plans of all graphs of a plan, bodies included, for given shapes of the inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/memory_plan.h"

namespace lathe {

/// The sizes of the plan's symbols by name.
using SymbolSizes = std::map<std::string, int64_t, std::less<>>;
/// Returns the sizes of the symbols in a run with this memory plan of the main graph.
SymbolSizes symbol_sizes(const Program& program, const MemoryPlan& main);
/// Returns the shape that the builder inferred, in numbers; nothing if a size is unknown.
std::optional<Shape> declared_shape(const PlanType& type, const SymbolSizes& sizes);

/// Returns by graph: `main`, and memory plans of the bodies. A shape in a body is known if it is the same in
/// every execution of the body and does not depend on data. Branches that no run takes have no memory plan.
std::vector<std::optional<MemoryPlan>> memory_plans_of_all(const Program& program, MemoryPlan main);

}  // namespace lathe
