// The tasks, their names, and the architectures that can be exported for them.
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

/// Finds configs by model type and task, and the architectures that they are for. A value: copy the built-in
/// one and register more. Reading is thread-safe. Optimum: TasksManager.
class LATHE_API TasksManager {
 public:
  /// Makes one that knows the names of tasks and no configs.
  TasksManager();
  /// Returns the one with all architectures of the library.
  static const TasksManager& builtin();

  // ── Words
  // ─────────────────────────────────────────────────────────────────────────────────────────────────
  /// Returns all tasks, without synonyms.
  static std::vector<std::string> get_all_tasks();
  /// Returns the task of a synonym: "causal-lm" is "text-generation"; other texts stay as they are.
  static std::string map_from_synonym(const std::string& task);
  /// Returns the synonyms of a task.
  static std::set<std::string> synonyms_for_task(const std::string& task);
  /// Returns the task of a name or synonym. Throws Code::bad_argument for what is neither, with similar
  /// names.
  static std::string known_task(const std::string& task);

  // ── Configs
  // ───────────────────────────────────────────────────────────────────────────────────────────────
  /// Registers a config for tasks, which may end in "-with-past". Those that the model type has already stay
  /// unless `overwrite_existing`. Throws Code::bad_argument for an unknown task.
  void register_config(const std::string& model_type, const std::vector<std::string>& tasks,
                       OnnxConfigConstructor make, bool overwrite_existing = false);
  /// Registers the config of class C, as above.
  template <class C>
  void register_config(const std::string& model_type, const std::vector<std::string>& tasks,
                       bool overwrite_existing = false) {
    register_config(model_type, tasks, &make_config<C>, overwrite_existing);
  }
  /// Returns all model types with a config.
  std::vector<std::string> model_types() const;
  /// Returns whether a model type has a config for the task.
  bool supports(std::string_view model_type, std::string_view task) const;
  /// Returns the tasks of a model type. Throws Code::not_supported for an unknown one, with similar ones.
  std::vector<std::string> get_supported_tasks_for_model_type(std::string_view model_type) const;
  /// Returns the model types that have a config for the task.
  std::vector<std::string> get_supported_model_type_for_task(std::string_view task) const;
  /// Returns what makes the config of a model type for a task. Throws Code::not_supported for an unknown
  /// model type, and for a task that it does not have, with those that it has.
  OnnxConfigConstructor get_exporter_config_constructor(std::string_view model_type,
                                                        const std::string& task) const;
  /// Makes a config for the task, "-with-past" or not. "export_model_type" of the configuration goes before
  /// "model_type": what is exported may be more than the architecture ("transformer": an encoder of
  /// sentences; "sentence_transformers/clip": one of sentences and images). Throws as
  /// get_exporter_config_constructor() and the config's constructor do.
  std::shared_ptr<OnnxConfig> make(const ModelConfig& config, const std::string& task,
                                   OnnxConfigOptions options = {}) const;

  // ── Checkpoints
  // ───────────────────────────────────────────────────────────────────────────────────────────
  /// Returns the task that "architectures" of config.json says: "BertForMaskedLM" is made for "fill-mask".
  /// Throws Code::bad_argument where it names none that is known.
  std::string infer_task_from_model(const ModelConfig& config) const;
  /// Returns "transformers", "sentence_transformers", "diffusers" or "timm", by the files of the directory.
  static std::string infer_library_from_model(const std::filesystem::path& directory);

  /// Returns the architectures that configs are for.
  nn::ModelRegistry& models() { return models_; }
  const nn::ModelRegistry& models() const { return models_; }

 private:
  std::map<std::string, Ordered<OnnxConfigConstructor>, std::less<>> configs_;
  nn::ModelRegistry models_;
};

}  // namespace lathe::exporters
