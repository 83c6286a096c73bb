// Graph → Plan: folds constants, removes dead code, chooses kernels, packs weights, inserts copies between
// memory spaces.
#pragma once

#include "compiler/lower.h"
#include "compiler/states.h"
#include "compiler/target.h"
#include "graph/graph.h"
#include "kernel/select.h"
#include "lathe/engine.h"
#include "plan/plan.h"
#include "runtime/extensions.h"
#include "schema/schema.h"
#include "tune/tuner.h"

namespace lathe {

/// The settings that follow from the options and the graph, computed once.
struct BuildSettings {
  Preference preference;
  std::shared_ptr<const Target> target;  // whose kernels come first; null: none that is known here
  std::vector<PlanProfile> profiles;
  std::vector<StatePositions> states;
  std::unique_ptr<Tuner> tuner;  // null: nothing is measured
};
/// Throws build_bad_option, build_bad_state, build_device_absent, and what reading a timing cache throws.
BuildSettings settings_of(const Graph& graph, const BuildOptions& options, const Extensions& extensions);

/// `graph` is complete (typed, in newest operators, with symbols fixed) and is changed on the way. Throws
/// build_no_kernel, build_reference_forbidden, build_device_absent, build_bad_option; each names the node.
Plan build_plan(Graph& graph, const SchemaCatalog& schemas, const Extensions& extensions,
                const BuildOptions& options, TuningReport* tuning = nullptr);

/// The second half of build_plan: lowering passes, kernels, packed weights. Changes the graph. `tuning`
/// receives what was measured.
Plan plan_optimized(Graph& graph, Folds folds, const TappedValues& taps, const SchemaCatalog& schemas,
                    const Extensions& extensions, const BuildOptions& options, BuildSettings settings,
                    const Search& search = {}, TuningReport* tuning = nullptr);

/// "npu:cpu" → {"npu", "cpu"}; throws build_bad_option, build_device_absent.
std::vector<std::string> backend_preference(const std::string& wanted, const Extensions& extensions);

}  // namespace lathe
