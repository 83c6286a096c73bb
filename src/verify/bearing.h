// Whether a model's own formulas bear the numbers that it is run on.
#pragma once

#include <string>

#include "verify/build_variants.h"

namespace lathe {

/// Returns the first node that computes infinity, NaN or a denormal number from normal ones, and which of
/// them: "Div 'r' makes an infinity"; empty: there is none. Results for such numbers depend on the order of
/// operations, which passes may change, so a difference is no fault.
std::string not_borne(const BuildVariants& variants, const Graph& graph, std::span<const Value> inputs);

}  // namespace lathe
