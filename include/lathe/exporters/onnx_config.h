// What an export of an architecture for a task looks like: names and axes of inputs and outputs, how inputs
// are made up, and how exact it has to be. The names are those of Hugging Face Optimum.
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

/// Which axes of a tensor are of any size, and what the size is called: {{0, "batch_size"}, {1,
/// "past_sequence_length + sequence_length"}}. An expression over names is one in the file too.
using Axes = std::map<int, std::string>;
using NamedAxes = Ordered<Axes>;

/// monolith: all of an encoder-decoder in one file.
enum class ConfigBehavior : uint8_t { monolith, encoder, decoder };
inline constexpr ConfigBehavior config_behaviors[] = {ConfigBehavior::monolith, ConfigBehavior::encoder,
                                                      ConfigBehavior::decoder};
constexpr std::string_view name_of(ConfigBehavior b) {
  constexpr std::string_view names[] = {"monolith", "encoder", "decoder"};
  return names[static_cast<size_t>(b)];
}

class TasksManager;

struct OnnxConfigOptions {
  std::string task = "feature-extraction";  // without "-with-past"
  DataType int_type = DataType::int64;      // int64, int32, int8
  DataType float_type = DataType::float32;  // float32, float16, bfloat16
  bool use_past = false;                    // the keys and values of every layer are outputs
  bool use_past_in_inputs = false;          // and inputs
  ConfigBehavior behavior = ConfigBehavior::monolith;
  /// Decoders as they were split before one file could do both: without past, and with.
  bool legacy = false;
  Preprocessors preprocessors = {};
  /// Where the configs of parts are looked for; it outlives the config. Null: TasksManager::builtin().
  const TasksManager* tasks = nullptr;
};

/// Puts something else in the place of modules, by the shell pattern of their paths, before they are emitted.
using PatchingSpec = nn::Substitute;

class OnnxConfig;
using OnnxConfigConstructor =
    std::function<std::shared_ptr<OnnxConfig>(const ModelConfig& config, const OnnxConfigOptions& options)>;
/// One file of an export and what is in it.
struct SubModel {
  std::string name;  // "model", "encoder_model", …: the file's without ".onnx"
  std::shared_ptr<const OnnxConfig> config;
};

/// Derive from it, or from one of the classes below or in lathe/exporters/configs.h, to export an
/// architecture: say normalized_config_kind() and inputs(). Immutable once it is made, but for set_…;
/// thread-safe as far as what is derived is.
class LATHE_API OnnxConfig {
 public:
  OnnxConfig(ModelConfig config, OnnxConfigOptions options);
  virtual ~OnnxConfig();

  const ModelConfig& config() const { return config_; }
  const OnnxConfigOptions& options() const { return options_; }
  const std::string& task() const { return options_.task; }
  /// Made when first asked for.
  const NormalizedConfig& normalized_config() const;

  /// Throws Code::bad_argument where the configuration lacks a size that names depend on.
  virtual NamedAxes inputs() const = 0;
  /// Unless overridden, what the task gives. Throws Code::not_supported for a task that has no common outputs.
  virtual NamedAxes outputs() const;
  virtual NormalizedConfigKind normalized_config_kind() const { return exporters::normalized_config(); }
  virtual std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const { return {}; }
  virtual double atol_for_validation() const { return 1e-5; }
  virtual int default_onnx_opset() const { return 18; }
  virtual std::vector<PatchingSpec> patching_specs() const { return {}; }
  /// Keys of config.json that are something else in the export: JSON text by key.
  virtual std::map<std::string, std::string> values_override() const;
  virtual bool supports_past() const { return false; }

  /// PyTorch's names for what ONNX calls otherwise.
  virtual std::map<std::string, std::string> torch_to_onnx_input_map() const { return {}; }
  virtual std::map<std::string, std::string> torch_to_onnx_output_map() const { return {}; }
  virtual NamedAxes rename_ambiguous_inputs(NamedAxes inputs) const { return inputs; }
  /// Arguments of PyTorch's forward(), in order: so are the inputs of the file. Empty: as inputs() has them.
  virtual std::vector<std::string> forward_arguments() const { return {}; }
  /// inputs(), in the order and with the names of the file.
  NamedAxes ordered_inputs() const;

  virtual std::vector<std::unique_ptr<DummyInputGenerator>> create_dummy_input_generators(
      const DummyShapes& shapes) const;
  /// By the names of inputs(); "past_key_values" stands for those of all layers. Throws Code::not_supported for
  /// an input that no generator knows.
  virtual DummyInputs generate_dummy_inputs(const DummyShapes& shapes = {}) const;
  /// The same as the file wants them.
  virtual DummyInputs generate_dummy_inputs_for_validation(DummyInputs inputs,
                                                           const std::vector<std::string>& onnx_inputs) const;
  /// "past_key_values.0.key" and so on, from what generate_dummy_inputs() gives for "past_key_values".
  virtual void flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                                       const std::vector<Tensor>& tensors) const;
  /// What a run of the file takes.
  Ordered<Tensor> file_inputs(const DummyShapes& shapes = {}) const;

  /// The files of an export, in the order in which they are written. `monolith`: one, whatever the task.
  virtual std::vector<SubModel> submodels(bool monolith) const;
  /// Names of two of them that post-processing merges into "decoder_model_merged".
  virtual std::optional<std::pair<std::string, std::string>> merged_submodels() const { return {}; }

  virtual std::vector<std::string> variants() const { return {"default"}; }
  const std::string& variant() const { return variant_; }
  /// Throws Code::not_supported for one that is not in variants(), with those that are.
  void set_variant(const std::string& name);

  /// How another of this class is made. Set by make_config() and TasksManager.
  void set_constructor(OnnxConfigConstructor make) { constructor_ = std::move(make); }
  /// Throws Code::bad_argument where no constructor was set.
  std::shared_ptr<OnnxConfig> with_options(const OnnxConfigOptions& options) const;

 protected:
  /// Of the constructor of a derived class only.
  OnnxConfigOptions& change_options() { return options_; }
  virtual NormalizedConfig make_normalized_config() const;
  /// Which generator makes an input, and with which sizes.
  virtual DummyInput generate_input(DummyInputGenerator& generator, const std::string& name) const;

 private:
  ModelConfig config_;
  OnnxConfigOptions options_;
  OnnxConfigConstructor constructor_;
  std::string variant_ = "default";
  mutable std::optional<NormalizedConfig> normalized_;
};

/// A config that can make others of its class, as with_behavior() and submodels() do.
template <class C>
std::shared_ptr<OnnxConfig> make_config(const ModelConfig& config, const OnnxConfigOptions& options = {}) {
  auto made = std::make_shared<C>(config, options);
  made->set_constructor(&make_config<C>);
  return made;
}

enum class PastDirection : uint8_t { inputs, outputs };

/// Decoders that keep the keys and values of what they have read.
class LATHE_API OnnxConfigWithPast : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  bool use_past() const { return options().use_past; }
  bool use_past_in_inputs() const { return options().use_past_in_inputs; }

  NamedAxes outputs() const override;
  bool supports_past() const override { return true; }
  /// The attention mask covers what is kept, too.
  virtual bool pad_attention_mask_to_past() const { return false; }
  std::map<std::string, std::string> values_override() const override;
  DummyInputs generate_dummy_inputs(const DummyShapes& shapes = {}) const override;
  std::vector<SubModel> submodels(bool monolith) const override;
  /// past_key_values.N.key and .value for the inputs, present.N.… for the outputs.
  virtual void add_past_key_values(NamedAxes& into, PastDirection direction) const;

 protected:
  DummyInput generate_input(DummyInputGenerator& generator, const std::string& name) const override;
};

/// Encoder-decoders.
class LATHE_API OnnxSeq2SeqConfigWithPast : public OnnxConfigWithPast {
 public:
  /// An encoder extracts features and keeps nothing, whatever the options say.
  OnnxSeq2SeqConfigWithPast(ModelConfig config, OnnxConfigOptions options);
  ConfigBehavior behavior() const { return options().behavior; }
  /// Another of this class. Throws as with_options() does.
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
