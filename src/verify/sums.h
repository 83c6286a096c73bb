// Error bounds of convolutions and products by fast algorithms. These add operands before they multiply, and
// round as if neighbors were terms of their own. docs/internals/verify.md describes the bounds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/step_info.h"

namespace lathe {

/// Returns whether a kernel of this name multiplies sums of operands.
bool sums_operands(std::string_view kernel);
/// The name of such a kernel in a step that computes `node` (empty: in any step); empty: there is none.
std::string fast_kernel(const std::vector<StepInfo>& steps, std::string_view node = {});

/// Returns by element of the node's output how far it may be from the exact sum; empty: nothing is known,
/// since the kernel is another, or the node no convolution or product of float32. `graph` has this node
/// alone.
std::vector<double> bounds_of_sums(const Graph& graph, std::string_view kernel, std::span<const Value> inputs,
                                   const Value& want, Isa isa);

}  // namespace lathe
