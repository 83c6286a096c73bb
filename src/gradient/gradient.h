// Reverse-mode differentiation of a part of a graph: the derivative of one value with respect to others, as
// ordinary operators behind those that are there (Griewank and Walther, "Evaluating Derivatives", chapter 3).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Adds a node of the default domain in its newest form, types its outputs, and returns them.
using AddNode = std::function<std::vector<ValueId>(Node)>;

/// What a Gradient node asks for, its names resolved to values of one graph.
struct Derivative {
  std::vector<ValueId> of;  // "xs", then "zs": what the function depends on
  std::vector<ValueId>
      at;             // as many: what stands in their place; where they differ the function is computed anew
  size_t wanted = 0;  // the first so many are differentiated for
  ValueId y = no_id;
};

/// For each of the first `wanted`: d(sum of all elements of y)/dx, of x's shape and type; zeros where y does
/// not depend on it. Throws node_cannot_convert naming a node in between whose operator has no rule,
/// node_bad_type.
std::vector<ValueId> differentiate(Graph& g, const Derivative& what, const AddNode& add);

/// The operators that have rules, sorted; other operators may stand between x and y where no derivative
/// passes (integers, truths).
std::vector<std::string> differentiable_operators();

}  // namespace lathe
