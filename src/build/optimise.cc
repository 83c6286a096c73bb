#include "build/optimise.h"

#include <algorithm>
#include <iterator>

namespace lathe {

Optimised optimise(Graph& graph, const SchemaCatalog& schemas, const KernelCatalog& kernels,
                   const BuildOptions& options, const Search& search) {
  Optimised done;
  for (bool changed = true; changed;) {
    done.folds.merge(fold_constants(
        graph,
        {.schemas = &schemas, .kernels = &kernels, .control = options.control, .limit = options.fold_limit}));
    // What is folded may let passes see more, and the other way round.
    std::vector<AppliedPatch> patches = run_passes(graph, schemas,
                                                   {.level = options.level,
                                                    .passes = search.passes,
                                                    .switches = options.passes,
                                                    .stop_after = search.stop_after - done.patches.size(),
                                                    .control = options.control});
    changed = !patches.empty();
    std::ranges::move(patches, std::back_inserter(done.patches));
  }
  return done;
}

}  // namespace lathe
