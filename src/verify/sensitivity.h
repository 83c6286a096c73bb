// What rounding of its inputs alone makes of a graph's outputs: where large terms cancel, no kernel can
// promise more.
#pragma once

#include "verify/workshop.h"

namespace lathe {

/// By output: how far elements may be off (absolutely), from how far they move when the inputs move by a unit
/// in their last place; where the graph rounds to whole numbers, also when inputs and constants move by 64.
/// `want`: the outputs for the inputs as they are.
std::vector<double> sensitivity(const Workshop& shop, const Graph& graph, std::span<const Value> inputs,
                                std::span<const Value> want);

}  // namespace lathe
