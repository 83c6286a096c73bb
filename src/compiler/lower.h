// Lowers a graph to a plan, with the kernels that will run it.
#pragma once

#include <map>
#include <vector>

#include "compiler/fold.h"
#include "compiler/search.h"
#include "compiler/target.h"
#include "kernel/select.h"
#include "plan/plan.h"
#include "runtime/packing.h"

namespace lathe {

/// Values to keep for taps, by the graph (or body) that they are in.
using TappedValues = std::map<const Graph*, std::vector<ValueId>>;

/// Notes in `packing` what the kernels require packed; it has to run before the plan does. Throws
/// build_bad_state if the old value of a state is still read when the new one has been written. `target`:
/// what elementwise regions are made for; null: none are made.
Plan lower(const Graph& graph, const Folds& folds, const TappedValues& taps, const KernelCatalog& kernels,
           const Preference& preference, const Target* target, RunControl* control, Packing& packing,
           const Search& search = {}, std::vector<PlanState> states = {});

/// "tensor(float)", "seq(tensor(int64))": how ONNX writes a type.
std::string onnx_text(const ValueType& type);

}  // namespace lathe
