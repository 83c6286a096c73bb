// States: pairs of an input and an output of which the output of a run is the input of the next
// (BuildOptions::states).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "lathe/build_options.h"
#include "plan/plan.h"

namespace lathe {

/// An input and an output of a graph that are a state, by their positions, and how it is kept (StatePair).
struct StatePositions {
  size_t input = 0, output = 0;
  DataType type = DataType::undefined;
  int64_t block = 0;
};

/// Returns the pairs that the options name, each input and output once. Throws build_bad_state if a pattern
/// fits nothing, or an input or output is in two pairs.
std::vector<StatePositions> state_positions(const Graph& graph, const BuildOptions& options);

/// Finds how the outputs are made, in a graph that all other passes are done with. A Concat that makes a
/// state of its old value becomes lathe.Append. Throws build_bad_state, with the node that makes the output,
/// if it is not its input with elements appended, written or replaced, or if it is to be kept in a type that
/// its node does not take.
std::vector<PlanState> use_states(Graph& graph, const std::vector<StatePositions>& pairs, int64_t capacity);

/// If the old value of a state is read too late, makes the new one elsewhere and copies it in the end. This
/// is impossible for elements that are written into the old one: throws build_bad_state with the node that
/// reads it.
void settle_states(Plan& plan);

}  // namespace lathe
