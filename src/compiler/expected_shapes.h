// The shapes that a model is expected to run with, by its options and by rules of thumb.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "lathe/build_options.h"
#include "plan/plan.h"

namespace lathe {

/// A size for each symbol of the inputs: that of `tune_sizes`, else the `opt` of the first profile, else a
/// usual one. Throws build_bad_option for sizes of symbols that no input has.
LikelySizes likely_sizes(const Graph& g, const BuildOptions& options);

/// The profiles as the plan keeps them. Throws build_bad_option, naming profile and input: unknown inputs,
/// ranges that are out of order, or that contradict what the model declares or one another.
std::vector<PlanProfile> plan_profiles(const Graph& g, const BuildOptions& options);

}  // namespace lathe
