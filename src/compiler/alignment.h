// Large weights stay where they are in the model's file, even at odd addresses, as long as only packing or
// kernels of any alignment read them: copying them first would take as long as packing does, and as much
// memory.
#pragma once

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "plan/plan.h"

namespace lathe {

/// After import: copies constants at odd addresses, all but the weights of operators that have them packed or
/// look rows up in them. What folds such a weight later aligns it for itself.
void align_constants(Graph& graph);

/// After packing: copies arrays at odd addresses that runs read, unless by kernels that take them so, and
/// small ones in a mapped file, of which each would keep up to 2 MB around it in memory. Lets go of
/// the pages of all that runs do not read.
void finalize_weights(Plan& plan, const KernelCatalog& kernels);

}  // namespace lathe
