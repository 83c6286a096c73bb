// How far rounding of its inputs alone moves a graph's outputs: where large terms cancel, no kernel can be
// more accurate.
#pragma once

#include "verify/build_variants.h"

namespace lathe {

/// Returns by output how far elements may be off (absolutely): how far they move when the inputs move by a
/// unit in their last place, and if the graph rounds to whole numbers, also when inputs and constants move by
/// 64 units. `want`: the outputs for the unchanged inputs.
std::vector<double> sensitivity(const BuildVariants& variants, const Graph& graph,
                                std::span<const Value> inputs, std::span<const Value> want);

}  // namespace lathe
