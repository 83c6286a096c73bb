// Graph → Plan: folds constants, drops what nobody wants, chooses kernels, packs weights, inserts copies
// between memory spaces.
#pragma once

#include "compiler/lower.h"
#include "graph/graph.h"
#include "kernel/select.h"
#include "lathe/engine.h"
#include "plan/plan.h"
#include "runtime/extensions.h"
#include "schema/schema.h"

namespace lathe {

/// `graph` is complete (typed, in newest operators, with symbols fixed) and is changed on the way. Throws
/// build_no_kernel, build_reference_forbidden, build_device_absent, build_bad_option; each names the node.
Plan build_plan(Graph& graph, const SchemaCatalog& schemas, const Extensions& extensions,
                const BuildOptions& options, TuningReport* tuning = nullptr);

/// The second half of it: the layout for this machine, kernels, packed weights. Changes the graph. `tuning`
/// receives what was measured.
Plan plan_optimized(Graph& graph, Folds folds, const TappedValues& taps, const SchemaCatalog& schemas,
                    const Extensions& extensions, const BuildOptions& options, const Search& search = {},
                    TuningReport* tuning = nullptr);

/// The preferences for kernels that the options express. Throws build_bad_option, build_device_absent.
Preference kernel_preference(const BuildOptions& options, const Extensions& extensions);

/// "npu:cpu" → {"npu", "cpu"}; throws build_bad_option, build_device_absent.
std::vector<std::string> backend_preference(const std::string& wanted, const Extensions& extensions);

}  // namespace lathe
