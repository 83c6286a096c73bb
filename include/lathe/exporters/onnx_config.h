// The export of an architecture for a task: names and axes of inputs and outputs, how inputs are generated,
// and how exact outputs must be. The names are those of Hugging Face Optimum.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/exporters/dummy_inputs.h"
#include "lathe/exporters/normalized_config.h"
#include "lathe/exporters/ordered.h"
#include "lathe/nn.h"

namespace lathe::exporters {

/// Names the axes of a tensor that have any size: {{0, "batch_size"}, {1, "past_sequence_length +
/// sequence_length"}}. An expression over names is one in the file, too.
using Axes = std::map<int, std::string>;
using NamedAxes = Ordered<Axes>;  // maps names of inputs or outputs to their open axes, in order

/// Selects what of an encoder-decoder a file holds; monolith is all of it.
enum class ConfigBehavior : uint8_t { monolith, encoder, decoder };
/// Holds all behaviors.
inline constexpr ConfigBehavior config_behaviors[] = {ConfigBehavior::monolith, ConfigBehavior::encoder,
                                                      ConfigBehavior::decoder};
/// Returns the name: "monolith", "encoder", "decoder".
constexpr std::string_view name_of(ConfigBehavior b) {
  constexpr std::string_view names[] = {"monolith", "encoder", "decoder"};
  return names[static_cast<size_t>(b)];
}

class TasksManager;

/// Options of an OnnxConfig.
struct OnnxConfigOptions {
  std::string task = "feature-extraction";  // task without "-with-past"
  DataType int_type = DataType::int64;      // type of integer inputs: int64, int32, int8
  DataType float_type = DataType::float32;  // type of other inputs and of weights: float32, float16, bfloat16
  bool use_past = false;                    // the keys and values of every layer (KV cache) are outputs
  bool use_past_in_inputs = false;          // they are inputs, too
  ConfigBehavior behavior = ConfigBehavior::monolith;  // part of an encoder-decoder that the file holds
  /// Splits decoders as Optimum did before one file could do both: without past, and with.
  bool legacy = false;
  Preprocessors preprocessors = {};  // files beside config.json
  /// Finds the configs of encoder and decoder, and must outlive the config. Null:
  /// TasksManager::builtin().
  const TasksManager* tasks = nullptr;
};

/// Replaces modules, by a shell pattern of their paths, before they are emitted.
using PatchingSpec = nn::Substitute;

class OnnxConfig;
/// Makes a config for a configuration and options.
using OnnxConfigConstructor =
    std::function<std::shared_ptr<OnnxConfig>(const ModelConfig& config, const OnnxConfigOptions& options)>;
/// Describes one file of an export.
struct SubModel {
  std::string name;  // name of the file without ".onnx": "model", "encoder_model", …
  std::shared_ptr<const OnnxConfig> config;  // config of the part that is in the file
};

/// Describes the export of an architecture. Derive from it, or from one of the classes below or in
/// lathe/exporters/configs.h, and override normalized_config_kind() and inputs(). Immutable once it is made,
/// except for set_…; as thread-safe as the derived class. Optimum: OnnxConfig.
class LATHE_API OnnxConfig {
 public:
  /// Makes a config. Throws Code::bad_argument for a task that ends in "-with-past", and for sizes of
  /// config.json that are out of range.
  OnnxConfig(ModelConfig config, OnnxConfigOptions options);
  /// Destroys the config.
  virtual ~OnnxConfig();

  /// Returns the config.json.
  const ModelConfig& config() const { return config_; }
  /// Returns the options that it was made with.
  const OnnxConfigOptions& options() const { return options_; }
  /// Returns the task, without "-with-past".
  const std::string& task() const { return options_.task; }
  /// Returns config.json read through normalized_config_kind(); it is made by the first call.
  const NormalizedConfig& normalized_config() const;

  /// Returns the inputs with their open axes. Throws Code::bad_argument where the configuration lacks a size
  /// that names depend on.
  virtual NamedAxes inputs() const = 0;
  /// Returns the outputs with their open axes; unless overridden, those that the task has. Throws
  /// Code::not_supported for a task without common outputs.
  virtual NamedAxes outputs() const;
  /// Returns where config.json keeps its sizes.
  virtual NormalizedConfigKind normalized_config_kind() const { return exporters::normalized_config(); }
  /// Returns the generators of synthetic inputs, in the order in which they are tried.
  virtual std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const { return {}; }
  /// Returns the absolute difference that outputs may have (ValidationOptions::atol).
  virtual double atol_for_validation() const { return 1e-5; }
  /// Returns the opset of files unless one is given.
  virtual int default_onnx_opset() const { return 18; }
  /// Returns the modules to replace.
  virtual std::vector<PatchingSpec> patching_specs() const { return {}; }
  /// Returns keys of config.json that have another value in the export, as JSON text by key.
  virtual std::map<std::string, std::string> values_override() const;
  /// Returns whether the architecture keeps past keys and values.
  virtual bool supports_past() const { return false; }

  /// Returns ONNX names by PyTorch's names, for inputs whose names differ.
  virtual std::map<std::string, std::string> torch_to_onnx_input_map() const { return {}; }
  /// Returns ONNX names by PyTorch's names, for outputs whose names differ.
  virtual std::map<std::string, std::string> torch_to_onnx_output_map() const { return {}; }
  /// Returns the inputs with other names where these would be ambiguous.
  virtual NamedAxes rename_ambiguous_inputs(NamedAxes inputs) const { return inputs; }
  /// Returns the arguments of PyTorch's forward() in order, which is that of the file's inputs. Empty: they
  /// are as inputs() has them.
  virtual std::vector<std::string> forward_arguments() const { return {}; }
  /// Returns inputs() in the order and with the names of the file.
  NamedAxes ordered_inputs() const;

  /// Returns generators for sizes; each has a seed of its own.
  virtual std::vector<std::unique_ptr<DummyInputGenerator>> create_dummy_input_generators(
      const DummyShapes& shapes) const;
  /// Makes inputs under the names of inputs(); "past_key_values" stands for those of all layers. Throws
  /// Code::not_supported for an input that no generator makes.
  virtual DummyInputs generate_dummy_inputs(const DummyShapes& shapes = {}) const;
  /// Returns the inputs as the file takes them.
  virtual DummyInputs generate_dummy_inputs_for_validation(DummyInputs inputs,
                                                           const std::vector<std::string>& onnx_inputs) const;
  /// Adds "past_key_values.0.key" and so on, from what generate_dummy_inputs() makes for "past_key_values".
  /// Throws Code::bad_argument for other than two tensors in a layer.
  virtual void flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                                       const std::vector<Tensor>& tensors) const;
  /// Returns the inputs of a run of the file. Throws Code::bad_argument where one is missing.
  Ordered<Tensor> file_inputs(const DummyShapes& shapes = {}) const;

  /// Returns the files of an export in the order in which they are written; `monolith` asks for one, whatever
  /// the task.
  virtual std::vector<SubModel> submodels(bool monolith) const;
  /// Returns the names of two of them that post-processing merges into "decoder_model_merged".
  virtual std::optional<std::pair<std::string, std::string>> merged_submodels() const { return {}; }

  /// Returns the names of the forms in which the architecture can be exported.
  virtual std::vector<std::string> variants() const { return {"default"}; }
  /// Returns the form in use.
  const std::string& variant() const { return variant_; }
  /// Selects a form. Throws Code::not_supported for one that is not in variants(), with those that are.
  void set_variant(const std::string& name);

  /// Sets how another config of this class is made; make_config() and TasksManager call it.
  void set_constructor(OnnxConfigConstructor make) { constructor_ = std::move(make); }
  /// Returns another config of this class with other options. Throws Code::bad_argument where no constructor
  /// was set.
  std::shared_ptr<OnnxConfig> with_options(const OnnxConfigOptions& options) const;

 protected:
  /// Returns the options for the constructor of a derived class to change.
  OnnxConfigOptions& change_options() { return options_; }
  virtual NormalizedConfig make_normalized_config() const;
  /// Makes an input with a generator; override it for other sizes.
  virtual DummyInput generate_input(DummyInputGenerator& generator, const std::string& name) const;

 private:
  ModelConfig config_;
  OnnxConfigOptions options_;
  OnnxConfigConstructor constructor_;
  std::string variant_ = "default";
  mutable std::optional<NormalizedConfig> normalized_;
};

/// Makes a config that can make others of its class, as with_behavior() and submodels() do.
template <class C>
std::shared_ptr<OnnxConfig> make_config(const ModelConfig& config, const OnnxConfigOptions& options = {}) {
  auto made = std::make_shared<C>(config, options);
  made->set_constructor(&make_config<C>);
  return made;
}

/// Selects whether past keys and values are inputs or outputs.
enum class PastDirection : uint8_t { inputs, outputs };

/// Config of decoders that keep the keys and values of what they have read (KV cache).
class LATHE_API OnnxConfigWithPast : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  /// Returns whether keys and values are outputs.
  bool use_past() const { return options().use_past; }
  /// Returns whether they are inputs, too.
  bool use_past_in_inputs() const { return options().use_past_in_inputs; }

  NamedAxes outputs() const override;
  bool supports_past() const override { return true; }
  /// Returns whether the attention mask also covers the past.
  virtual bool pad_attention_mask_to_past() const { return false; }
  std::map<std::string, std::string> values_override() const override;
  DummyInputs generate_dummy_inputs(const DummyShapes& shapes = {}) const override;
  std::vector<SubModel> submodels(bool monolith) const override;
  /// Adds past_key_values.N.key and .value to inputs, or present.N.… to outputs.
  virtual void add_past_key_values(NamedAxes& into, PastDirection direction) const;

 protected:
  DummyInput generate_input(DummyInputGenerator& generator, const std::string& name) const override;
};

/// Config of encoder-decoders.
class LATHE_API OnnxSeq2SeqConfigWithPast : public OnnxConfigWithPast {
 public:
  /// Makes a config; an encoder extracts features and keeps nothing, whatever the options say.
  OnnxSeq2SeqConfigWithPast(ModelConfig config, OnnxConfigOptions options);
  /// Returns what of the model the file holds.
  ConfigBehavior behavior() const { return options().behavior; }
  /// Returns another config of this class. Throws as with_options() does.
  virtual std::shared_ptr<OnnxConfig> with_behavior(ConfigBehavior behavior, bool use_past = false,
                                                    bool use_past_in_inputs = false) const;

  NamedAxes outputs() const override;
  std::map<std::string, std::string> torch_to_onnx_input_map() const override;
  std::vector<std::unique_ptr<DummyInputGenerator>> create_dummy_input_generators(
      const DummyShapes& shapes) const override;
  void add_past_key_values(NamedAxes& into, PastDirection direction) const override;
  void flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                               const std::vector<Tensor>& tensors) const override;
  DummyInputs generate_dummy_inputs_for_validation(
      DummyInputs inputs, const std::vector<std::string>& onnx_inputs) const override;
  std::vector<SubModel> submodels(bool monolith) const override;
  std::optional<std::pair<std::string, std::string>> merged_submodels() const override;
};

}  // namespace lathe::exporters
