// Weights for engines from files: checkpoints and models.
#include "lathe/refit.h"

#include <algorithm>

#include "compiler/built_in.h"
#include "compiler/plugin_schemas.h"
#include "lathe/builder.h"
#include "lathe/checkpoint.h"
#include "onnx/importer.h"
#include "runtime/engine_impl.h"

namespace lathe {

std::vector<std::string> Refitter::set_named_weights(
    const Checkpoint& checkpoint, const std::function<std::string(const std::string&)>& name_of) {
  NamedWeights weights;
  std::map<std::string, std::string> in_file;
  std::vector<std::string> ignored;
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    const std::string name = name_of ? name_of(t.name) : t.name;
    if (name.empty()) continue;
    if (!knows(name)) {
      ignored.push_back(t.name);
      continue;
    }
    if (!weights.emplace(name, checkpoint.tensor(t.name)).second)
      throw Error(Code::bad_argument, "refit", "one tensor for each weight",
                  "two for '" + name + "': '" + in_file[name] + "' and '" + t.name + "'");
    in_file[name] = t.name;
  }
  set_some(weights, ignored, "a checkpoint");
  return ignored;
}

std::vector<std::string> Refitter::set_named_weights(const onnx::Model& model) {
  const auto engine = this->engine();
  const std::shared_ptr<const SchemaCatalog> schemas = schemas_with(engine->program.extensions());
  const std::unique_ptr<Graph> graph = import_model(model, *schemas, {.shapes = {}, .any_alignment = true});
  NamedWeights weights;
  std::vector<std::string> ignored;
  for (const Initializer& i : initializers(*graph)) {
    if (knows(i.name))
      weights.insert_or_assign(i.name, i.value->tensor());
    else
      ignored.push_back(i.name);
  }
  set_some(weights, ignored, "a model");
  return ignored;
}

namespace {

/// Says how the names of a file differ from those of an engine that has none of them.
std::string difference_of_names(const std::vector<std::string>& file,
                                const std::vector<std::string>& engine) {
  if (file.empty() || engine.empty()) return {};
  for (const std::string& own : engine)
    for (const std::string& other : file)
      if (other.size() > own.size() && other.ends_with(own))
        return "it has '" + other + "' for '" + own + "': `lathe refit --prefix " +
               other.substr(0, other.size() - own.size()) +
               "`, or the name_of of set_named_weights, takes the beginning away";
  return "it has '" + file[0] + "' and the like, the engine '" + engine[0] + "'; Refitter::all() lists them";
}

}  // namespace

/// Sets all weights or none. Throws bad_argument if there are none.
void Refitter::set_some(const NamedWeights& weights, const std::vector<std::string>& ignored,
                        std::string_view origin) {
  if (weights.empty())
    throw Error(Code::bad_argument, "refit", "weights of the engine",
                std::string(origin) + " with none of them", difference_of_names(ignored, all()));
  set_named_weights(weights);
}

RefitReport Builder::refit_engine(const Engine& engine, const NamedWeights& weights,
                                  RunControl* control) const {
  Refitter r(engine);
  r.set_named_weights(weights);
  return r.refit(control);
}

RefitReport Builder::refit_engine(const Engine& engine, const Checkpoint& weights,
                                  RunControl* control) const {
  Refitter r(engine);
  r.set_named_weights(weights);
  return r.refit(control);
}

RefitReport Builder::refit_engine(const Engine& engine, const onnx::Model& weights,
                                  RunControl* control) const {
  Refitter r(engine);
  r.set_named_weights(weights);
  return r.refit(control);
}

}  // namespace lathe
