#include "lathe/exporters/onnx_config.h"

#include <algorithm>

#include "base/nearest.h"
#include "exporters/task_names.h"
#include "lathe/error.h"
#include "nn/sizes.h"

namespace lathe::exporters {

OnnxConfig::OnnxConfig(ModelConfig config, OnnxConfigOptions options)
    : config_(std::move(config)), options_(std::move(options)) {
  nn::check_sizes(config_);
  if (options_.task.ends_with(with_past))
    throw Error(Code::bad_argument, "export", "a task without '-with-past'", "'" + options_.task + "'",
                "say use_past instead");
}
OnnxConfig::~OnnxConfig() = default;

const NormalizedConfig& OnnxConfig::normalized_config() const {
  if (!normalized_) normalized_ = make_normalized_config();
  return *normalized_;
}

NormalizedConfig OnnxConfig::make_normalized_config() const {
  return NormalizedConfig(config_, normalized_config_kind());
}

NamedAxes OnnxConfig::outputs() const {
  const NamedAxes* common = common_outputs(task());
  if (!common)
    throw Error(Code::not_supported, "export", "a task whose outputs are known", "'" + task() + "'",
                "override outputs()");
  return *common;
}

std::map<std::string, std::string> OnnxConfig::values_override() const {
  if (config_.has("use_cache")) return {{"use_cache", "false"}};
  return {};
}

namespace {

/// Returns whether an argument of forward() is this input, or "past_key_values", which covers the inputs of
/// all layers.
bool is_input_of_argument(const std::string& argument, std::string_view input) {
  return input == argument || (input.starts_with(argument) && input[argument.size()] == '.');
}

}  // namespace

NamedAxes OnnxConfig::ordered_inputs() const {
  const NamedAxes all = rename_ambiguous_inputs(inputs());
  NamedAxes ordered;
  const auto renamed = torch_to_onnx_input_map();
  const auto take = [&](const NamedAxes::Item& input) {
    const auto at = renamed.find(input.first);
    ordered[at == renamed.end() ? input.first : at->second] = input.second;
  };
  const std::vector<std::string> arguments = forward_arguments();
  std::vector<bool> taken(all.size());
  for (const std::string& argument : arguments) {
    size_t i = 0;
    for (const auto& input : all) {
      if (!taken[i] && is_input_of_argument(argument, input.first)) take(input), taken[i] = true;
      ++i;
    }
  }
  size_t i = 0;
  for (const auto& input : all)
    if (!taken[i++]) take(input);
  return ordered;
}

std::vector<std::unique_ptr<DummyInputGenerator>> OnnxConfig::create_dummy_input_generators(
    const DummyShapes& shapes) const {
  std::vector<std::unique_ptr<DummyInputGenerator>> generators;
  for (const DummyInputGeneratorClass& make : dummy_input_generator_classes()) {
    DummyShapes own = shapes;
    own.seed = shapes.seed * 16 + generators.size();  // not all the same numbers
    generators.push_back(make(task(), normalized_config(), own, options_.preprocessors));
  }
  return generators;
}

DummyInput OnnxConfig::generate_input(DummyInputGenerator& generator, const std::string& name) const {
  return generator.generate(name, options_.int_type, options_.float_type);
}

DummyInputs OnnxConfig::generate_dummy_inputs(const DummyShapes& shapes) const {
  const auto generators = create_dummy_input_generators(shapes);
  DummyInputs made;
  for (const auto& input : inputs()) {
    const std::string name = input.first.starts_with("past_key_values.") ? "past_key_values" : input.first;
    if (made.contains(name)) continue;
    const auto at = std::ranges::find_if(generators, [&](const auto& g) { return g->supports_input(name); });
    if (at == generators.end())
      throw Error(Code::not_supported, "export", "an input that one of the config's generators makes",
                  "'" + name + "'", "add a generator to dummy_input_generator_classes()");
    made[name] = generate_input(**at, name);
  }
  return made;
}

DummyInputs OnnxConfig::generate_dummy_inputs_for_validation(DummyInputs inputs,
                                                             const std::vector<std::string>&) const {
  return inputs;
}

void OnnxConfig::flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                                         const std::vector<Tensor>& tensors) const {
  const std::string start = name + "." + std::to_string(layer);
  if (tensors.size() != 2)
    throw Error(Code::bad_argument, "export", "a key and a value of every layer",
                std::to_string(tensors.size()) + " tensors for '" + start + "'",
                "override flatten_past_key_values()");
  into[start + ".key"] = tensors[0];
  into[start + ".value"] = tensors[1];
}

Ordered<Tensor> OnnxConfig::file_inputs(const DummyShapes& shapes) const {
  const NamedAxes wanted = ordered_inputs();
  const DummyInputs made =
      generate_dummy_inputs_for_validation(generate_dummy_inputs(shapes), wanted.names());
  Ordered<Tensor> all;
  for (const auto& [name, input] : made)
    if (input.layers.empty())
      all[name] = input.tensor;
    else
      for (size_t layer = 0; layer < input.layers.size(); ++layer)
        flatten_past_key_values(all, name, layer, input.layers[layer]);
  Ordered<Tensor> ordered;
  for (const auto& [name, axes] : wanted) {
    const Tensor* t = all.find(name);
    if (!t)
      throw Error(Code::bad_argument, "export", "a value for every input of the file",
                  "none for '" + name + "'", "generate_dummy_inputs_for_validation() renames");
    ordered[name] = *t;
  }
  return ordered;
}

std::vector<SubModel> OnnxConfig::submodels(bool) const { return {{"model", with_options(options_)}}; }

void OnnxConfig::set_variant(const std::string& name) {
  const auto known = variants();
  if (std::ranges::find(known, name) == known.end()) {
    std::string all;
    for (const std::string& v : known) all += (all.empty() ? "" : ", ") + v;
    throw Error(Code::not_supported, "export", "one of the variants " + all, "'" + name + "'");
  }
  variant_ = name;
}

std::shared_ptr<OnnxConfig> OnnxConfig::with_options(const OnnxConfigOptions& options) const {
  if (!constructor_)
    throw Error(Code::bad_argument, "export", "a config that can make others of its class",
                "one that was made alone", "make it with make_config<C>() or a TasksManager");
  auto made = constructor_(config_, options);
  made->set_constructor(constructor_);
  made->variant_ = variant_;
  return made;
}

}  // namespace lathe::exporters
