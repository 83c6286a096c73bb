// Architectures: modules that are made from a config.json, and the registry that finds them by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/nn/module.h"

namespace lathe::nn {

/// Tensors by name, in order: "input_ids", "attention_mask", "past_key_values.0.key", "logits", ….
class LATHE_API NamedTensors {
 public:
  /// Makes an empty list.
  NamedTensors() = default;
  /// Makes a list of the items.
  NamedTensors(std::initializer_list<std::pair<std::string, TensorRef>> list);
  /// Adds a tensor at the end, or replaces the one of that name.
  void set(const std::string& name, const TensorRef& t);
  /// Returns whether there is that name.
  bool contains(std::string_view name) const { return static_cast<bool>(find(name)); }
  /// Returns the tensor of that name; an undefined one where there is none.
  TensorRef find(std::string_view name) const;
  /// Returns the tensor of that name. Throws bad_argument, with the names that there are.
  const TensorRef& at(std::string_view name) const;
  /// Returns the number of tensors.
  size_t size() const { return items_.size(); }
  /// Returns whether there are none.
  bool empty() const { return items_.empty(); }
  /// Returns an iterator to the first name and tensor.
  auto begin() const { return items_.begin(); }
  /// Returns an iterator behind the last.
  auto end() const { return items_.end(); }

 private:
  std::vector<std::pair<std::string, TensorRef>> items_;
};
using Inputs = NamedTensors;   // the inputs of a model by name
using Outputs = NamedTensors;  // the outputs of a model by name

/// An architecture with the head for a task. Inputs and outputs have the names of Optimum's ONNX files; which
/// inputs are given decides what is emitted (with past keys and values or without).
class LATHE_API Model : public Module {
 public:
  /// Appends the model and returns its outputs. Throws bad_argument where an input is missing.
  virtual Outputs forward(Network& network, const Inputs& inputs) const = 0;
  /// Returns the prefix under which published checkpoints with a head keep the body, and which those without
  /// one lack: "bert.". Empty where there is none.
  virtual std::string base_prefix() const { return {}; }
  /// Returns the BindOptions::other_parts of published checkpoints.
  virtual std::vector<std::pair<std::string, std::string>> other_parts() const { return {}; }
  /// Calls Module::bind with base_prefix() and other_parts().
  BindReport bind(const Checkpoint& checkpoint, BindOptions options = {});
};

/// An encoder and a decoder, which are exported to files of their own or to one.
class LATHE_API Seq2SeqModel : public Model {
 public:
  /// Appends the encoder: "input_ids" (or "pixel_values", "input_features"), "attention_mask" →
  /// "last_hidden_state".
  virtual Outputs encode(Network& network, const Inputs& inputs) const = 0;
  /// Appends the decoder: "input_ids" of the decoder, "encoder_hidden_states", "encoder_attention_mask", and
  /// "past_key_values.0.decoder.key", "past_key_values.0.encoder.key", … where there is a past → "logits",
  /// "present.0.decoder.key", ….
  virtual Outputs decode(Network& network, const Inputs& inputs) const = 0;
  /// Appends both: the decoder's tokens are "decoder_input_ids", and its mask is the encoder's.
  Outputs forward(Network& network, const Inputs& inputs) const override;
};

/// Finds architectures by "model_type" of config.json and task ("fill-mask", "text-generation", …;
/// "-with-past" is ignored). A value: copy builtin() and add to it. Reading is thread-safe.
class LATHE_API ModelRegistry {
 public:
  /// Makes a model of a configuration for a task.
  using Factory = std::function<std::unique_ptr<Model>(const ModelConfig& config, std::string_view task)>;
  /// Returns the registry of all architectures of the library.
  static const ModelRegistry& builtin();

  /// Registers an architecture for tasks; replaces what was there.
  void add(const std::string& model_type, const std::vector<std::string>& tasks, Factory factory);
  /// Returns whether an architecture is registered for the task.
  bool contains(std::string_view model_type, std::string_view task) const;
  /// Returns all registered model types.
  std::vector<std::string> model_types() const;
  /// Returns the tasks of a model type. Throws bad_argument for an unknown one, with similar ones.
  std::vector<std::string> tasks(std::string_view model_type) const;
  /// Makes the model of a configuration, float32 and without weights. Throws bad_argument for an unknown
  /// model type or task, with similar ones, and what the architecture throws for a configuration that it does
  /// not support.
  std::unique_ptr<Model> make(const ModelConfig& config, std::string_view task) const;
  std::unique_ptr<Model> make(std::string_view model_type, const ModelConfig& config,
                              std::string_view task) const;

 private:
  using Tasks = std::vector<std::pair<std::string, Factory>>;
  const Tasks& find(std::string_view model_type) const;
  std::map<std::string, Tasks, std::less<>> models_;
};

}  // namespace lathe::nn
