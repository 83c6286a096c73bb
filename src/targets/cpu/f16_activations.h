// Models of 16-bit floats calculate in float32 (compiler/float_arithmetic.h), and results stay float32 as
// long as weights take most of the memory. If images in channel blocks take much of it, those that are alive
// when most of it is needed are kept in 16 bits, as the model specifies: rounded when they are made, widened
// strip by strip when a convolution or a pool reads them. Runs last of the passes on channel blocks.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

void use_f16_activations(Graph& graph, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
