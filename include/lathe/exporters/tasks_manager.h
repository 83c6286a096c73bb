// Which tasks there are, what they are called, and which architectures can be exported for them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/exporters/onnx_config.h"

namespace lathe::exporters {

/// Configs by model type and task, and the architectures they are for. A value: copy the built-in one and
/// register more. Reading is thread-safe.
class LATHE_API TasksManager {
 public:
  /// Nothing but the words.
  TasksManager();
  /// What the library brings.
  static const TasksManager& builtin();

  // ── Words
  // ─────────────────────────────────────────────────────────────────────────────────────────────────
  static std::vector<std::string> get_all_tasks();
  /// "causal-lm" is "text-generation"; what is no synonym is itself.
  static std::string map_from_synonym(const std::string& task);
  static std::set<std::string> synonyms_for_task(const std::string& task);
  /// Throws Code::bad_argument for what is neither a task nor a synonym, with names that are near.
  static std::string known_task(const std::string& task);

  // ── Configs
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// Tasks may end in "-with-past". Those that the model type has already stay unless `overwrite_existing`.
  /// Throws Code::bad_argument for an unknown task.
  void register_config(const std::string& model_type, const std::vector<std::string>& tasks,
                       OnnxConfigConstructor make, bool overwrite_existing = false);
  template <class C>
  void register_config(const std::string& model_type, const std::vector<std::string>& tasks,
                       bool overwrite_existing = false) {
    register_config(model_type, tasks, &make_config<C>, overwrite_existing);
  }
  std::vector<std::string> model_types() const;
  bool supports(std::string_view model_type, std::string_view task) const;
  /// Throws Code::not_supported for an unknown model type, with those that are near.
  std::vector<std::string> get_supported_tasks_for_model_type(std::string_view model_type) const;
  std::vector<std::string> get_supported_model_type_for_task(std::string_view task) const;
  /// Throws Code::not_supported for an unknown model type, and for a task that it does not have, with those
  /// that it has.
  OnnxConfigConstructor get_exporter_config_constructor(std::string_view model_type,
                                                        const std::string& task) const;
  /// A config for the task, "-with-past" or not. "export_model_type" of the configuration goes before
  /// "model_type": what is exported may be more than the architecture ("transformer": an encoder of
  /// sentences; "sentence_transformers/clip": one of sentences and images).
  std::shared_ptr<OnnxConfig> make(const ModelConfig& config, const std::string& task,
                                   OnnxConfigOptions options = {}) const;

  // ── Checkpoints
  // ───────────────────────────────────────────────────────────────────────────────────────────
  /// From "architectures" of config.json: "BertForMaskedLM" is made for "fill-mask". Throws
  /// Code::bad_argument where it names none that is known.
  std::string infer_task_from_model(const ModelConfig& config) const;
  /// "transformers", "sentence_transformers", "diffusers", "timm": by the files of the directory.
  static std::string infer_library_from_model(const std::filesystem::path& directory);

  /// The architectures that configs are for.
  nn::ModelRegistry& models() { return models_; }
  const nn::ModelRegistry& models() const { return models_; }

 private:
  std::map<std::string, Ordered<OnnxConfigConstructor>, std::less<>> configs_;
  nn::ModelRegistry models_;
};

}  // namespace lathe::exporters
