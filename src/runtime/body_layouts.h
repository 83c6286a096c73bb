// What follows from the shapes of the inputs for every graph of a plan, bodies too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/layout.h"

namespace lathe {

/// Of the plan's symbols.
using SymbolSizes = std::map<std::string, int64_t, std::less<>>;
/// In a run with this layout of the main graph.
SymbolSizes symbol_sizes(const Program& program, const Layout& main);
/// What the inference of the builder said of a shape, in numbers; nothing where it did not say all.
std::optional<Shape> declared_shape(const PlanType& type, const SymbolSizes& sizes);

/// By graph: `main`, and layouts of the bodies, in which is known what is the same each time that they run:
/// not what changes from one time to the next, nor what only the data decide. Nothing of a branch that no run
/// takes.
std::vector<std::optional<Layout>> layouts_of_all(const Program& program, Layout main);

}  // namespace lathe
