// Puts convolutions, and the nodes between them, into the layout that their kernels read in place: channels
// in blocks of 16, [N, C/16, H, W, 16] (or without H).
//
// The nodes that it makes (domain "lathe") are for this machine's plan only; graphs that are saved do not
// have them. Values keep their NCHW form too, made by a node that is dead unless something still reads it: an
// output, a tap, an operator that requires NCHW.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"
#include "tune/tuner.h"

namespace lathe {

/// With a tuner, measured times decide what pays (measured_layout.h), unless times are missing; otherwise a
/// rule of thumb decides. Throws what Tuner::measure_all throws.
void use_blocked_layout(Graph& graph, const KernelCatalog& kernels, const Preference& preference,
                        Tuner* tuner = nullptr);

}  // namespace lathe
