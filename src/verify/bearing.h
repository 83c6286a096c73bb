// Whether a model's own formulas bear the numbers that it is run on.
#pragma once

#include <string>

#include "verify/workshop.h"

namespace lathe {

/// The first node that makes infinity or NaN of numbers that are none, or a number too small to be normal,
/// and which of them: "Div 'r' makes an infinity"; empty: there is none. What is made of such numbers depends
/// on the order of operations, which passes may change, so nobody is to blame for a difference.
std::string not_borne(const Workshop& shop, const Graph& graph, std::span<const Value> inputs);

}  // namespace lathe
