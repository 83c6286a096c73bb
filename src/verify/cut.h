// Pieces of a graph as graphs of their own.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Returns the values that a node reads: inputs, and captures of its bodies; each once, without constants.
std::vector<ValueId> reads_of(const Graph& graph, NodeId node);

/// Returns the nodes that compute `wanted`, producers first, without those that compute the values in
/// `known`.
std::vector<NodeId> nodes_for(const Graph& graph, const std::vector<ValueId>& wanted,
                              const std::vector<ValueId>& known = {});

struct Cut {
  std::unique_ptr<Graph> graph;
  std::vector<ValueId> inputs;   // of the graph that was cut, by input of the piece
  std::vector<ValueId> outputs;  // by output
};
/// Returns a graph of `nodes` (producers first) alone: values of others that they read become inputs,
/// `outputs` are values that they make. Names and types stay; constants are shared.
Cut cut(const Graph& graph, const std::vector<NodeId>& nodes, std::vector<ValueId> outputs);

/// The name of a node for people: its own, or that of its output.
std::string label_of(const Graph& graph, const Node& node);

}  // namespace lathe
