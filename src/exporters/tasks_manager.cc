#include "lathe/exporters/tasks_manager.h"

#include <algorithm>

#include "base/nearest.h"
#include "exporters/task_names.h"
#include "lathe/error.h"

namespace lathe::exporters {

/// Generated: calls the functions that src/exporters/configs/*.cc define.
void register_all_configs(TasksManager& tasks);

namespace {

const std::map<std::string, std::string>& synonyms() {
  static const std::map<std::string, std::string> all = {
      {"audio-ctc", "automatic-speech-recognition"},
      {"causal-lm", "text-generation"},
      {"causal-lm-with-past", "text-generation-with-past"},
      {"default", "feature-extraction"},
      {"default-with-past", "feature-extraction-with-past"},
      {"image-feature-extraction", "feature-extraction"},
      {"latent-consistency", "text-to-image"},
      {"mask-generation", "feature-extraction"},
      {"masked-lm", "fill-mask"},
      {"pretraining", "feature-extraction"},
      {"sentence-similarity", "feature-extraction"},
      {"seq2seq-lm", "text2text-generation"},
      {"seq2seq-lm-with-past", "text2text-generation-with-past"},
      {"sequence-classification", "text-classification"},
      {"speech2seq-lm", "automatic-speech-recognition"},
      {"speech2seq-lm-with-past", "automatic-speech-recognition-with-past"},
      {"stable-diffusion", "text-to-image"},
      {"stable-diffusion-xl", "text-to-image"},
      {"summarization", "text2text-generation"},
      {"text-to-speech", "text-to-audio"},
      {"translation", "text2text-generation"},
      {"vision2seq-lm", "image-to-text"},
      {"zero-shot-classification", "text-classification"},
  };
  return all;
}

std::string listed(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& w : items) all += (all.empty() ? "" : ", ") + w;
  return all;
}

/// Returns the similar names, or, if there is none, all names.
std::string choice(std::string_view wanted, const std::vector<std::string>& known) {
  const auto near = nearest_names(wanted, known);
  return near.empty() ? "there are " + listed(known) : "near to it: " + listed(near);
}

}  // namespace

TasksManager::TasksManager() = default;

const TasksManager& TasksManager::builtin() {
  static const TasksManager all = [] {
    TasksManager t;
    t.models_ = nn::ModelRegistry::builtin();
    register_all_configs(t);
    return t;
  }();
  return all;
}

std::vector<std::string> TasksManager::get_all_tasks() {
  return {"audio-classification",
          "audio-frame-classification",
          "audio-xvector",
          "automatic-speech-recognition",
          "depth-estimation",
          "document-question-answering",
          "feature-extraction",
          "fill-mask",
          "image-classification",
          "image-segmentation",
          "image-text-to-text",
          "image-to-image",
          "image-to-text",
          "inpainting",
          "keypoint-detection",
          "mask-generation",
          "masked-im",
          "multiple-choice",
          "object-detection",
          "question-answering",
          "reinforcement-learning",
          "semantic-segmentation",
          "sentence-similarity",
          "text-classification",
          "text-generation",
          "text-to-audio",
          "text-to-image",
          "text2text-generation",
          "time-series-forecasting",
          "token-classification",
          "visual-question-answering",
          "zero-shot-image-classification",
          "zero-shot-object-detection"};
}

std::string TasksManager::map_from_synonym(const std::string& task) {
  const auto at = synonyms().find(task);
  return at == synonyms().end() ? task : at->second;
}

std::set<std::string> TasksManager::synonyms_for_task(const std::string& task) {
  const std::string meant = map_from_synonym(task);
  std::set<std::string> all;
  for (const auto& [synonym, known] : synonyms())
    if (known == meant && synonym != task) all.insert(synonym);
  return all;
}

std::string TasksManager::known_task(const std::string& task) {
  const std::string meant = map_from_synonym(task);
  std::vector<std::string> known = get_all_tasks();
  if (std::ranges::find(known, without_past(meant)) != known.end()) return meant;
  for (const auto& [synonym, of] : synonyms())  // some are tasks of their own too
    if (std::ranges::find(known, synonym) == known.end()) known.push_back(synonym);
  throw Error(Code::bad_argument, "export", "a task", "'" + task + "'", choice(without_past(task), known));
}

void TasksManager::register_config(const std::string& model_type, const std::vector<std::string>& tasks,
                                   OnnxConfigConstructor make, bool overwrite_existing) {
  for (const std::string& task : tasks) known_task(task);
  Ordered<OnnxConfigConstructor>& known = configs_[model_type];
  for (const std::string& task : tasks)
    if (overwrite_existing || !known.contains(task)) known[task] = make;
}

std::vector<std::string> TasksManager::model_types() const {
  std::vector<std::string> all;
  for (const auto& [type, tasks] : configs_) all.push_back(type);
  return all;
}

bool TasksManager::supports(std::string_view model_type, std::string_view task) const {
  const auto at = configs_.find(model_type);
  return at != configs_.end() && at->second.contains(task);
}

std::vector<std::string> TasksManager::get_supported_tasks_for_model_type(std::string_view model_type) const {
  const auto at = configs_.find(model_type);
  if (at != configs_.end()) return at->second.names();
  throw Error(Code::not_supported, "export", "an architecture that can be exported",
              "model type '" + std::string(model_type) + "'",
              choice(model_type, model_types()) + "; docs/guide/export.md says how to add one");
}

std::vector<std::string> TasksManager::get_supported_model_type_for_task(std::string_view task) const {
  std::vector<std::string> all;
  for (const auto& [type, tasks] : configs_)
    if (tasks.contains(task)) all.push_back(type);
  return all;
}

OnnxConfigConstructor TasksManager::get_exporter_config_constructor(std::string_view model_type,
                                                                    const std::string& task) const {
  const std::vector<std::string> tasks = get_supported_tasks_for_model_type(model_type);
  const Ordered<OnnxConfigConstructor>& known = configs_.find(model_type)->second;
  if (const auto* make = known.find(task)) return *make;
  if (const auto* make = known.find(map_from_synonym(task))) return *make;
  for (const std::string& synonym : synonyms_for_task(task))
    if (const auto* make = known.find(synonym)) return *make;
  throw Error(Code::not_supported, "export", "a task that '" + std::string(model_type) + "' does",
              "'" + known_task(task) + "'", "it does " + listed(tasks));
}

std::shared_ptr<OnnxConfig> TasksManager::make(const ModelConfig& config, const std::string& task,
                                               OnnxConfigOptions options) const {
  const auto type =
      config.get<std::string>(config.has("export_model_type") ? "export_model_type" : "model_type");
  const OnnxConfigConstructor constructor = get_exporter_config_constructor(type, task);
  const std::string meant = map_from_synonym(task);
  options.task = without_past(meant);
  options.use_past = meant != options.task;
  options.tasks = this;
  std::shared_ptr<OnnxConfig> made = constructor(config, options);
  made->set_constructor(constructor);
  if (options.use_past && !made->supports_past())
    throw Error(Code::not_supported, "export", "a config that keeps keys and values for '" + meant + "'",
                "one of '" + type + "' that does not", "register it without '-with-past'");
  return made;
}

std::string TasksManager::infer_task_from_model(const ModelConfig& config) const {
  const auto fail = [&](std::string got) -> Error {
    return Error(Code::bad_argument, "export", "'architectures' in config.json that tell the task",
                 std::move(got), "say it with --task: " + listed(get_all_tasks()));
  };
  if (!config.has("architectures")) throw fail("none");
  const auto names = config.get<std::vector<std::string>>("architectures");
  for (const std::string& name : names)
    if (const std::string task = task_of_architecture(name); !task.empty()) return task;
  throw fail("'" + listed(names) + "'");
}

std::string TasksManager::infer_library_from_model(const std::filesystem::path& directory) {
  const auto there = [&](const char* name) {
    std::error_code ignored;
    return std::filesystem::exists(directory / name, ignored);
  };
  if (there("model_index.json")) return "diffusers";
  if (there("modules.json") || there("config_sentence_transformers.json") ||
      there("sentence_bert_config.json"))
    return "sentence_transformers";
  if (!there("config.json")) return "transformers";
  const auto config = ModelConfig::open(directory);
  if (config.has("pretrained_cfg") || config.has("architecture")) return "timm";
  return config.has("_diffusers_version") ? "diffusers" : "transformers";
}

}  // namespace lathe::exporters
