// The optimiser without an engine: model in, model out.
#include "build/optimise.h"
#include "lathe/tools.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"

namespace lathe {

OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options, int opset) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  const std::unique_ptr<Graph> graph =
      import_model(model, catalog, {.shapes = options.shapes, .control = options.control});
  const Optimised done = optimise(*graph, catalog, KernelCatalog::standard(), options,
                                  {.dequantize = false, .newest_opset = opset});
  OptimizedModel result{export_model(*graph, catalog, {.opset = opset}), {}};
  for (const AppliedPatch& p : done.patches)
    result.patches.push_back({std::string(p.pass), p.node, p.reason});
  return result;
}

std::vector<PassInfo> passes() {
  std::vector<PassInfo> list;
  for (const Pass& p : all_passes())
    list.push_back({std::string(p.name), std::string(p.says), p.level, p.by_default});
  return list;
}

}  // namespace lathe
