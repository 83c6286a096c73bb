// What convolutions and products by fast algorithms are held to: these take sums of operands before they
// multiply, and round as if neighbours were terms of theirs. docs/internals/verify.md says which bounds those
// are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/step_info.h"

namespace lathe {

/// Does a kernel of this name multiply what are sums of operands?
bool sums_operands(std::string_view kernel);
/// The name of the kernel of a step that does; empty: none does. `node`: of the step that computes it; empty:
/// of any.
std::string fast_kernel(const std::vector<StepInfo>& steps, std::string_view node = {});

/// By element of what the node gives, how far it may be from the exact sum; empty: nothing is known of it,
/// since the kernel is another, or the node no convolution or product of float32. `graph` has this node
/// alone.
std::vector<double> bounds_of_sums(const Graph& graph, std::string_view kernel, std::span<const Value> inputs,
                                   const Value& want, Isa isa);

}  // namespace lathe
