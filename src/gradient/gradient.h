// Reverse-mode differentiation of a part of a graph: the derivative of one value with respect to others, as
// ordinary operators added to the graph (Griewank and Walther, "Evaluating Derivatives", chapter 3).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Adds a node of the default domain in its newest form, types its outputs, and returns them.
using AddNode = std::function<std::vector<ValueId>(Node)>;

/// The derivatives that a Gradient node computes, its names resolved to values of one graph.
struct Derivative {
  std::vector<ValueId> of;  // "xs", then "zs": what the function depends on
  std::vector<ValueId>
      at;  // as many: what stands in their place; where they differ the function is computed anew
  size_t differentiated = 0;  // the first so many are differentiated for
  ValueId y = no_id;
};

/// Returns for each of the first `wanted`: d(sum of all elements of y)/dx, of x's shape and type; zeros if y
/// does not depend on it. Throws node_cannot_convert naming a node in between whose operator has no rule,
/// node_bad_type.
std::vector<ValueId> differentiate(Graph& g, const Derivative& what, const AddNode& add);

/// Returns the operators that have rules, sorted. Other operators may be between x and y if no derivative
/// passes through them (integers, booleans).
std::vector<std::string> differentiable_operators();

}  // namespace lathe
