#include "lathe/nn/model.h"

#include "nn/access.h"
#include "nn/models.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {

NamedTensors::NamedTensors(std::initializer_list<std::pair<std::string, TensorRef>> list) {
  for (const auto& [name, t] : list) set(name, t);
}

void NamedTensors::set(const std::string& name, const TensorRef& t) {
  for (auto& item : items_)
    if (item.first == name) {
      item.second = t;
      return;
    }
  items_.emplace_back(name, t);
}

TensorRef NamedTensors::find(std::string_view name) const {
  for (const auto& [key, t] : items_)
    if (key == name) return t;
  return {};
}

const TensorRef& NamedTensors::at(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [key, t] : items_) {
    if (key == name && t) return t;
    known.push_back(key);
  }
  throw detail::fault(Code::bad_argument, "", "a tensor '" + std::string(name) + "'",
                      known.empty() ? "none" : "those there are: " + detail::listed(known));
}

BindReport Model::bind(const Checkpoint& checkpoint, BindOptions options) {
  if (options.base_prefix.empty()) options.base_prefix = base_prefix();
  if (options.other_parts.empty()) options.other_parts = other_parts();
  return Module::bind(checkpoint, options);
}

Outputs Seq2SeqModel::forward(Network& network, const Inputs& inputs) const {
  Inputs of_encoder, of_decoder;
  for (const auto& [name, t] : inputs) {
    if (name == "decoder_input_ids")
      of_decoder.set("input_ids", t);
    else if (name.starts_with("past_key_values.") || name.starts_with("decoder_"))
      of_decoder.set(name, t);
    else
      of_encoder.set(name, t);
  }
  if (const TensorRef given = inputs.find("encoder_outputs"))
    of_decoder.set("encoder_hidden_states", given);
  else
    of_decoder.set("encoder_hidden_states", encode(network, of_encoder).at("last_hidden_state"));
  if (const TensorRef mask = inputs.find("attention_mask")) of_decoder.set("encoder_attention_mask", mask);
  Outputs outputs = decode(network, of_decoder);
  outputs.set("encoder_last_hidden_state", of_decoder.at("encoder_hidden_states"));
  return outputs;
}

namespace {

/// Wraps an architecture, so that options that refuse_what_none_has() knows are refused.
ModelRegistry::Factory refusing(ModelRegistry::Factory make) {
  return [make = std::move(make)](const ModelConfig& config, std::string_view task) {
    check_sizes(config);
    refuse_what_none_has(config);
    std::unique_ptr<Model> made = make(config, task);
    if (dynamic_cast<const Seq2SeqModel*>(made.get()) && config.get<bool>("tie_encoder_decoder", false))
      throw unsupported_config("config.json", "an encoder and a decoder with weights of their own",
                               "tie_encoder_decoder", "true",
                               "save the checkpoint with all weights and 'tie_encoder_decoder' false");
    return made;
  };
}

}  // namespace

const ModelRegistry& ModelRegistry::builtin() {
  static const ModelRegistry all = [] {
    ModelRegistry r;
    register_all_models(r);
    for (auto& [type, tasks] : r.models_)
      for (auto& [task, factory] : tasks) factory = refusing(std::move(factory));
    return r;
  }();
  return all;
}

namespace {

/// With or without past, the model is the same.
std::string_view base_task(std::string_view task) {
  constexpr std::string_view with_past = "-with-past";
  return task.ends_with(with_past) ? task.substr(0, task.size() - with_past.size()) : task;
}

}  // namespace

void ModelRegistry::add(const std::string& model_type, const std::vector<std::string>& tasks,
                        Factory factory) {
  Tasks& list = models_[model_type];
  for (const std::string& task : tasks) {
    const std::string base(base_task(task));
    std::erase_if(list, [&](const auto& t) { return t.first == base; });
    list.emplace_back(base, factory);
  }
}

bool ModelRegistry::contains(std::string_view model_type, std::string_view task) const {
  const auto at = models_.find(model_type);
  if (at == models_.end()) return false;
  for (const auto& [name, factory] : at->second)
    if (name == base_task(task)) return true;
  return false;
}

std::vector<std::string> ModelRegistry::model_types() const {
  std::vector<std::string> list;
  for (const auto& [name, tasks] : models_) list.push_back(name);
  return list;
}

const ModelRegistry::Tasks& ModelRegistry::find(std::string_view model_type) const {
  const auto at = models_.find(model_type);
  if (at != models_.end()) return at->second;
  const std::string near = detail::near(model_type, model_types());
  throw detail::fault(Code::bad_argument, "", "a model type that is supported",
                      "'" + std::string(model_type) + "'",
                      near.empty() ? "there are " + detail::listed(model_types()) : near);
}

std::vector<std::string> ModelRegistry::tasks(std::string_view model_type) const {
  std::vector<std::string> list;
  for (const auto& [name, factory] : find(model_type)) list.push_back(name);
  return list;
}

std::unique_ptr<Model> ModelRegistry::make(std::string_view model_type, const ModelConfig& config,
                                           std::string_view task) const {
  for (const auto& [name, factory] : find(model_type))
    if (name == base_task(task)) return factory(config, name);
  const std::string near = detail::near(base_task(task), tasks(model_type));
  throw detail::fault(Code::bad_argument, std::string(model_type), "a task that the architecture has",
                      "'" + std::string(task) + "'",
                      near.empty() ? "there are " + detail::listed(tasks(model_type)) : near);
}

std::unique_ptr<Model> ModelRegistry::make(const ModelConfig& config, std::string_view task) const {
  return make(config.get<std::string>("model_type"), config, task);
}

}  // namespace lathe::nn
