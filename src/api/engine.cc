// From a model to an engine: import, build, and what runs it.
#include "base/cpu.h"
#include "build/alignment.h"
#include "build/build.h"
#include "build/plugin_schemas.h"
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
  // What a wrong option would end with is said before the model is looked at.
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
