// Makes an engine from a model: imports it, builds the plan, and prepares the engine that runs it.
#include "base/cpu.h"
#include "compiler/alignment.h"
#include "compiler/build.h"
#include "compiler/plugin_schemas.h"
#include "onnx/importer.h"
#include "onnx/load.h"
#include "runtime/engine_impl.h"

namespace lathe {
namespace {

void report(const BuildOptions& o, std::string_view stage) {
  if (o.control) o.control->check();
  if (o.progress && !o.progress(stage, 0))
    throw Error(Code::cancelled, "build", "to go on", "cancelled by the caller");
}

}  // namespace

Engine Engine::build(const std::filesystem::path& path, const BuildOptions& options) {
  report(options, "load");
  return build(onnx::load_model(path, options.load, options.control), options);
}

Engine Engine::build(const onnx::Model& model, const BuildOptions& options) {
  std::shared_ptr<const Extensions> extensions = Extensions::load(options.plugins);
  // A wrong backend is an error before the model is read.
  backend_preference(options.backend, *extensions);
  report(options, "import");
  const std::shared_ptr<const SchemaCatalog> schemas = schemas_with(*extensions);
  const std::unique_ptr<Graph> graph = import_model(model, *schemas,
                                                    {.shapes = options.shapes,
                                                     .fix_defaults = options.fix_defaults,
                                                     .any_alignment = true,
                                                     .control = options.control});
  align_constants(*graph);
  TuningReport tuning;
  Plan plan = build_plan(*graph, *schemas, *extensions, options, &tuning);
  return EngineAccess::make(
      std::make_shared<const Impl>(std::move(plan), std::move(extensions), program_options(options), tuning));
}

void initialize() {
  (void)cpu_features();
  (void)SchemaCatalog::standard();
  (void)KernelCatalog::standard();
}

}  // namespace lathe
