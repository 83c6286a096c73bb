// States: pairs of an input and an output of which the output of a run is the input of the next
// (BuildOptions::states).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lathe/build_options.h"
#include "plan/plan.h"

namespace lathe {

/// Positions of an input and of an output in a graph.
using StatePositions = std::pair<size_t, size_t>;

/// Returns the pairs that the options name, each input and output once. Throws build_bad_state if a pattern
/// fits nothing, or an input or output is in two pairs.
std::vector<StatePositions> state_positions(const Graph& graph, const BuildOptions& options);

/// Finds how the outputs are made, in a graph that all other passes are done with. A Concat that makes a
/// state of its old value becomes lathe.Append. Throws build_bad_state, with the node that makes the output,
/// if it is not its input with elements appended, written or replaced.
std::vector<PlanState> use_states(Graph& graph, const std::vector<StatePositions>& pairs, int64_t capacity);

/// If the old value of a state is read too late, makes the new one elsewhere and copies it in the end. This
/// is impossible for elements that are written into the old one: throws build_bad_state with the node that
/// reads it.
void settle_states(Plan& plan);

}  // namespace lathe
