// How much arithmetic one run of a graph is.
#pragma once

#include "graph/graph.h"
#include "lathe/dim.h"
#include "schema/schema.h"

namespace lathe {

struct Work {
  Dim flops;
  int64_t unknown_nodes = 0;  // left out: their shapes are not known
};
/// Two for every term that a contraction sums, one for every element that other arithmetic makes (or a
/// reduction reads), nothing where the operator's tolerance is exact (movement, comparison, logic). A loop's
/// body counts once, of an If the dearer branch.
Work work_of(const Graph& g, const SchemaCatalog& catalog);

}  // namespace lathe
