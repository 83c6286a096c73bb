// Operators in TensorRT's words: which add_* call, with which options, appends just this node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lathe/network.h"

namespace lathe {

struct CppCall {
  std::string method;            // "add_convolution"
  std::vector<size_t> operands;  // the node's inputs that it is given, in this order
  bool as_list = false;          // … all of them in braces
  std::string rest;              // what follows the operands: ", {.stride = {2, 2}, .name = \"stem\"}"
  /// The same call; operands that are left out are no tensors.
  std::function<Layer(Network&, const std::vector<TensorRef>&)> make;
};

/// The call that appends `node`, but for the tensors; whether it does is for the caller to try, since nothing is
/// looked at here that the call finds for itself. Nothing for operators of no family.
std::optional<CppCall> call_for(const Graph& g, const Node& node);

/// Tries the call in a network of its own: does it append one node just like `node`? The inputs of the node, by
/// number, that are constants which the call makes; nothing where something differs.
std::optional<std::vector<size_t>> constants_made_by(const CppCall& call, const Graph& g, const Node& node);

}  // namespace lathe
