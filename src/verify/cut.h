// Pieces of a graph as graphs of their own.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// What a node needs before it can run: inputs, and what its bodies capture; each once, without constants.
std::vector<ValueId> reads_of(const Graph& graph, NodeId node);

/// Producers first: what leads to `wanted`, but nothing behind the values in `known`.
std::vector<NodeId> nodes_for(const Graph& graph, const std::vector<ValueId>& wanted,
                              const std::vector<ValueId>& known = {});

struct Cut {
  std::unique_ptr<Graph> graph;
  std::vector<ValueId> inputs;   // of the graph that was cut, by input of the piece
  std::vector<ValueId> outputs;  // by output
};
/// `nodes` (producers first) alone: what they read of others becomes inputs, `outputs` are values that they
/// make. Names and types stay; constants are shared.
Cut cut(const Graph& graph, const std::vector<NodeId>& nodes, std::vector<ValueId> outputs);

/// How people call a node: its name, or that of what it makes.
std::string label_of(const Graph& graph, const Node& node);

}  // namespace lathe
