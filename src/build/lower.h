// Writes a graph down as a plan, with the kernels that will run it.
#pragma once

#include <span>

#include "build/fold.h"
#include "kernel/select.h"
#include "plan/plan.h"

namespace lathe {

Plan lower(const Graph& graph, const Folds& folds, std::span<const ValueId> taps,
           const KernelCatalog& kernels, const Preference& preference, RunControl* control);

/// "tensor(float)", "seq(tensor(int64))": how ONNX writes a type.
std::string onnx_text(const ValueType& type);

}  // namespace lathe
