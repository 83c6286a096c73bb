// Architectures: modules that are made from a config.json, and the registry that finds them.
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
  NamedTensors() = default;
  NamedTensors(std::initializer_list<std::pair<std::string, TensorRef>> list);
  /// Puts it at the end, or in the place of the one of that name.
  void set(const std::string& name, const TensorRef& t);
  bool contains(std::string_view name) const { return static_cast<bool>(find(name)); }
  /// No tensor where there is none of that name.
  TensorRef find(std::string_view name) const;
  /// Throws bad_argument, with the names there are.
  const TensorRef& at(std::string_view name) const;
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<std::pair<std::string, TensorRef>> items_;
};
using Inputs = NamedTensors;
using Outputs = NamedTensors;

/// A whole architecture with the head for a task. Inputs and outputs have the names that ONNX files of
/// Optimum have; which inputs are given decides what is emitted (with past keys or without).
class LATHE_API Model : public Module {
 public:
  /// Appends the model. Throws bad_argument where an input is missing that it needs.
  virtual Outputs forward(Network& network, const Inputs& inputs) const = 0;
  /// The prefix under which published checkpoints with a head keep the body, and which those without one
  /// lack: "bert.". Empty where there is none.
  virtual std::string base_prefix() const { return {}; }
  /// BindOptions::other_parts of published checkpoints.
  virtual std::vector<std::pair<std::string, std::string>> other_parts() const { return {}; }
  /// Module::bind with base_prefix() and other_parts().
  BindReport bind(const Checkpoint& checkpoint, BindOptions options = {});
};

/// An encoder and a decoder, which are files of their own or one.
class LATHE_API Seq2SeqModel : public Model {
 public:
  /// "input_ids" (or "pixel_values", "input_features"), "attention_mask" → "last_hidden_state".
  virtual Outputs encode(Network& network, const Inputs& inputs) const = 0;
  /// "input_ids" of the decoder, "encoder_hidden_states", "encoder_attention_mask", and
  /// "past_key_values.0.decoder.key", "past_key_values.0.encoder.key", … where there is a past → "logits",
  /// "present.0.decoder.key", ….
  virtual Outputs decode(Network& network, const Inputs& inputs) const = 0;
  /// Both: the decoder's tokens are "decoder_input_ids", its mask is the encoder's.
  Outputs forward(Network& network, const Inputs& inputs) const override;
};

/// Architectures by "model_type" of config.json and task ("fill-mask", "text-generation", …; "-with-past"
/// does not matter). A value: copy builtin() and add to it. Safe to read from many threads.
class LATHE_API ModelRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Model>(const ModelConfig& config, std::string_view task)>;
  /// Those of this library.
  static const ModelRegistry& builtin();

  /// Replaces what was there.
  void add(const std::string& model_type, const std::vector<std::string>& tasks, Factory factory);
  bool contains(std::string_view model_type, std::string_view task) const;
  std::vector<std::string> model_types() const;
  /// Throws bad_argument for a model type that is not known, with those that are near.
  std::vector<std::string> tasks(std::string_view model_type) const;
  /// Throws bad_argument for a model type or task that is not known, with those that are near; what the
  /// architecture says of a configuration that it cannot make.
  std::unique_ptr<Model> make(const ModelConfig& config, std::string_view task) const;
  std::unique_ptr<Model> make(std::string_view model_type, const ModelConfig& config,
                              std::string_view task) const;

 private:
  using Tasks = std::vector<std::pair<std::string, Factory>>;
  const Tasks& find(std::string_view model_type) const;
  std::map<std::string, Tasks, std::less<>> models_;
};

}  // namespace lathe::nn
