// The steps of an export, from checkpoint to files.
#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "base/scratch_file.h"
#include "exporters/emit.h"
#include "exporters/export_decoder.h"
#include "exporters/file_weights.h"
#include "exporters/gguf_companions.h"
#include "exporters/low_bit_weights.h"
#include "exporters/merge.h"
#include "exporters/missing_weights.h"
#include "exporters/sentence.h"
#include "exporters/stage.h"
#include "exporters/task_names.h"
#include "exporters/validation.h"
#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "lathe/normalize.h"
#include "lathe/optimize.h"
#include "onnx/each_tensor.h"
#include "onnx/save.h"

namespace lathe::exporters {
namespace {

namespace fs = std::filesystem;

/// Weights of more bytes than a protobuf message can hold are in a file beside it, as in Optimum.
constexpr uint64_t external_beyond = uint64_t{2} << 30;
constexpr int64_t external_threshold = 100;
constexpr const char* merged_name = "decoder_model_merged";

uint64_t weight_bytes(const onnx::Model& m) {
  uint64_t bytes = 0;
  onnx::each_tensor(m.proto, [&](const onnx::TensorProto& t) {
    if (t.raw_data) bytes += t.raw_data->size();
  });
  return bytes;
}

int opset_of(const onnx::Model& m) {
  const auto at = std::ranges::find_if(m.proto.opset_import, [](const onnx::OperatorSetIdProto& o) {
    return !o.domain || o.domain->empty() || *o.domain == "ai.onnx";
  });
  return at == m.proto.opset_import.end() ? 0 : static_cast<int>(at->version.value_or(0));
}

std::optional<ModelConfig> open_if_there(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return ModelConfig::open(file);
}

/// Returns the folder, or the nearest one around it that exists; empty if there is none.
fs::path existing_part_of(const fs::path& folder) {
  std::error_code failed;
  fs::path at = fs::absolute(folder, failed);
  while (!failed && !fs::is_directory(at, failed) && at.has_relative_path()) {
    failed.clear();
    at = at.parent_path();
  }
  return failed ? fs::path() : at;
}

/// Returns the id of the padding token that a tokenizer has, or nothing.
std::optional<int64_t> pad_token_of(const ModelConfig& tokenizer) {
  if (tokenizer.has("pad_token_id")) return tokenizer.get<int64_t>("pad_token_id");
  if (!tokenizer.has("pad_token") || !tokenizer.has("added_tokens_decoder")) return std::nullopt;
  std::string token;
  try {
    token = tokenizer.get<std::string>("pad_token");
  } catch (const Error&) {
    token = tokenizer.get<std::string>("pad_token.content");
  }
  const auto added = tokenizer.get<ModelConfig>("added_tokens_decoder");
  for (const std::string& id : added.keys())
    if (added.get<ModelConfig>(id).get<std::string>("content", "") == token) return std::stoll(id);
  return std::nullopt;
}

void check_exists(const fs::path& checkpoint) {
  std::error_code ignored;
  if (!fs::exists(checkpoint, ignored))
    throw file_error(Code::file_not_found, checkpoint, "the directory of a checkpoint", "none of that name",
                     "nothing is downloaded: `hf download` puts a model of the hub into a directory");
}

class Exporter {
 public:
  Exporter(const fs::path& checkpoint, const fs::path& output, const ExportOptions& options)
      : gguf_(is_gguf(checkpoint) ? std::make_shared<const GgufSource>(checkpoint, options.load) : nullptr),
        checkpoint_(checkpoint),
        options_(options),
        tasks_(options.tasks ? *options.tasks : TasksManager::builtin()),
        library_(options.library.empty() ? TasksManager::infer_library_from_model(checkpoint_)
                                         : options.library),
        sentence_(library_ == "sentence_transformers" ? std::optional(sentence_checkpoint(checkpoint_))
                                                      : std::nullopt),
        architecture_(sentence_ ? sentence_->encoder : checkpoint_),
        config_json_(gguf_ ? gguf_->config() : read_config(architecture_)),
        config_(config_with({})),
        output_(output) {}

  /// Makes the one file of a decoder without writing it.
  ExportedDecoder decoder() {
    choose_task();
    make_config();
    make_model();
    if (files_.size() != 1)
      throw Error(Code::not_supported, "export", "a model of one file",
                  std::to_string(files_.size()) + " files");
    ExportedDecoder made{.model = std::move(emitted_in_some_opset().front()),
                         .config = config_json_,
                         .gguf = gguf_,
                         .weights = {}};
    if (keeps_bits()) keep_bits(made.model, *gguf_);
    made.weights = std::shared_ptr<const nn::Model>(std::move(model_));
    return made;
  }

  ExportReport run() {
    choose_task();
    make_config();
    make_model();
    StagedDirectory stage(output_);
    stage_ = &stage;
    write_models();
    write_companions();
    check();
    if (options_.engine) build_engines();
    list_files();
    report_progress("moving files into place");
    stage.commit();
    return std::move(report_);
  }

 private:
  void report_progress(const std::string& stage) {
    stage_text_ = stage;
    report_progress();
  }
  void report_progress() {
    if (options_.progress && !options_.progress({stage_text_, written_, total_}))
      throw Error(Code::cancelled, "export", "to go on", "a request to stop");
  }

  // ── Choice of the task

  void choose_task() {
    report_.model_type = config_.get<std::string>("model_type");
    report_.library = library_;
    exported_type_ = !sentence_        ? report_.model_type
                     : sentence_->clip ? "sentence_transformers/clip"
                                       : "transformer";
    const bool automatic = options_.task == "auto";
    if (!automatic)
      task_ = TasksManager::known_task(options_.task);
    else
      task_ = sentence_ ? "feature-extraction" : tasks_.infer_task_from_model(config_);
    if (task_.ends_with(with_past) && options_.monolith)
      throw Error(Code::bad_argument, "export", "a task without '-with-past' for one file",
                  "'" + task_ + "' with --monolith", "leave out one of them");
    if (automatic && !options_.monolith && keeps_past()) task_ += with_past;
    report_.task = task_;
  }

  /// Returns whether the model can have a past: the architecture may, and yet not the decoder of this one.
  bool keeps_past() const {
    const std::string task = task_ + std::string(with_past);
    if (!tasks_.supports(exported_type_, task)) return false;
    if (!config_.has("decoder")) return true;
    try {
      tasks_.make(config_, task);
      return true;
    } catch (const Error& e) {
      if (e.code() != Code::not_supported) throw;
      return false;
    }
  }

  void make_config() {
    OnnxConfigOptions o;
    o.int_type = options_.int_type;
    o.float_type = options_.dtype;
    o.legacy = options_.legacy;
    o.preprocessors = {open_if_there(architecture_ / "tokenizer_config.json"),
                       open_if_there(architecture_ / "preprocessor_config.json")};
    overrides_ = task_overrides(o.preprocessors);
    auto overrides = overrides_;
    if (sentence_) overrides["export_model_type"] = "\"" + exported_type_ + "\"";
    const ModelConfig config = config_with(overrides);
    onnx_config_ = tasks_.make(config, task_, o);
    onnx_config_->set_variant(options_.variant);
    for (const auto& [key, value] : onnx_config_->values_override()) overrides_[key] = value;
    report_.opset = options_.opset ? options_.opset : onnx_config_->default_onnx_opset();
    if (keeps_bits()) choose_opset_for_bits();
    files_ = onnx_config_->submodels(options_.monolith);
    for (SubModel& f : files_)
      if (const auto own = options_.custom_onnx_configs.find(f.name);
          own != options_.custom_onnx_configs.end())
        f.config = own->second;
  }

  bool keeps_bits() const {
    return gguf_ && !options_.widen_weights && options_.dtype == DataType::float32 && gguf_->has_numbers();
  }
  void choose_opset_for_bits() {
    const int needed = opset_for_bits(*gguf_);
    if (options_.opset && options_.opset < needed)
      throw Error(Code::bad_argument, "export",
                  "opset " + std::to_string(needed) + " or newer, which has weights in blocks",
                  std::to_string(options_.opset), "--widen-weights writes floats");
    report_.opset = std::max(report_.opset, needed);
  }

  /// A classifier of texts reads the last token that is no padding.
  std::map<std::string, std::string> task_overrides(const Preprocessors& p) const {
    if (without_past(task_) != "text-classification" || config_.has("pad_token_id")) {
      if (options_.pad_token_id) return {{"pad_token_id", std::to_string(*options_.pad_token_id)}};
      return {};
    }
    const auto id = options_.pad_token_id ? options_.pad_token_id
                    : p.tokenizer         ? pad_token_of(*p.tokenizer)
                                          : std::nullopt;
    if (id) return {{"pad_token_id", std::to_string(*id)}};
    throw Error(Code::bad_argument, "export", "the id of the padding token, in config.json or a tokenizer's",
                "none", "say it with --pad-token-id");
  }

  ModelConfig config_with(const std::map<std::string, std::string>& overrides) const {
    return ModelConfig::parse(config_text(config_json_, overrides),
                              (gguf_ ? architecture_ : architecture_ / "config.json").string());
  }

  void make_model() {
    report_progress("binding");
    // Converted weights are written near the output, so that their file can become a part of it.
    const ScratchFolder near_the_output(existing_part_of(output_));
    const ModelConfig config = config_with(overrides_);
    const Checkpoint weights = gguf_ ? gguf_->weights() : Checkpoint::open(architecture_, options_.load);
    if (!sentence_) {
      model_ = tasks_.models().make(config, without_past(task_));
      bind(*model_, weights, architecture_, {});
      return;
    }
    std::unique_ptr<nn::SentenceModel> whole = make_sentence_model(config);
    bind(whole->encoder(), weights, architecture_, {});
    for (const auto& [folder, module] : whole->others())
      bind(*module, Checkpoint::open(checkpoint_ / folder, options_.load), checkpoint_ / folder, folder);
    model_ = std::move(whole);
  }

  /// An architecture may have another model for sentences than for its features.
  std::unique_ptr<nn::SentenceModel> make_sentence_model(const ModelConfig& config) const {
    constexpr const char* sentences = "sentence-similarity";
    const bool own = tasks_.models().contains(report_.model_type, sentences);
    auto encoder = tasks_.models().make(config, own ? sentences : "feature-extraction");
    if (dynamic_cast<const nn::Seq2SeqModel*>(encoder.get()))
      throw Error(Code::not_supported, "export", "sentences read by an encoder or a decoder alone",
                  "'" + report_.model_type + "', which is both",
                  "export it with --library-name transformers");
    if (sentence_->clip) return std::make_unique<nn::SentenceClip>(std::move(encoder), sentence_->modules);
    return std::make_unique<nn::SentenceTransformer>(std::move(encoder), sentence_->modules);
  }

  /// `path`: the module's path in the model that is written.
  template <class M>
  void bind(M& module, const Checkpoint& weights, const fs::path& folder, const std::string& path) {
    if (options_.dtype != DataType::float32) module.to(options_.dtype);
    const nn::BindReport bound = bound_or_explained(module, keeps_bits() ? gguf_->placeholders() : weights);
    report_.untied.insert(report_.untied.end(), bound.untied.begin(), bound.untied.end());
    nn::BindOptions variants;
    if constexpr (std::is_base_of_v<nn::Model, M>)
      variants = {.base_prefix = module.base_prefix(), .other_parts = module.other_parts()};
    // The checkpoint is opened anew, except if its files may change meanwhile and were therefore read once,
    // and if its tensors are made from those of the file each time.
    file_weights_.add(options_.load.untrusted || gguf_ ? weights : Checkpoint::open(folder, options_.load),
                      module, variants, path);
  }
  template <class M>
  nn::BindReport bound_or_explained(M& module, const Checkpoint& weights) const {
    try {
      return module.bind(weights, {.convert = true});
    } catch (const Error& e) {
      if (e.code() == Code::tensor_bad_shape) throw about_sizes(module, e);
      if (e.code() != Code::bad_argument) throw;
      const auto missing = module.bind(weights, {.convert = true, .allow_missing = true}).missing;
      Diagnostic diagnostic = e.diagnostic();
      if (const auto layers = too_many_layers(missing, weights, config_)) {
        diagnostic.expected = layers->expected;
        diagnostic.got = layers->got;
        diagnostic.remedy = "correct config.json, or the checkpoint lacks a part";
        throw Error(std::move(diagnostic));
      }
      diagnostic.remedy = remedy_for_missing_vocabulary(module, missing, weights, config_);
      if (diagnostic.remedy.empty()) throw;
      throw Error(std::move(diagnostic));
    }
  }

  /// Adds the keys of config.json that give the wrong sizes to an error about a shape.
  Error about_sizes(const nn::Module& module, const Error& e) const {
    Diagnostic diagnostic = e.diagnostic();
    for (const nn::NamedParameter& p : module.named_parameters())
      if (p.name == diagnostic.node)
        if (const auto keys = keys_of_shape(p.parameter.shape(), diagnostic.got, config_); !keys.empty())
          diagnostic.remedy = "in config.json " + keys + ": " + diagnostic.remedy;
    return Error(std::move(diagnostic));
  }

  // ── Files

  std::vector<onnx::Model> emitted() {
    std::vector<onnx::Model> models;
    for (const SubModel& f : files_) {
      report_progress("emitting " + f.name);
      models.push_back(emit(*model_, *f.config,
                            {.name = f.name,
                             .opset = report_.opset,
                             .no_dynamic_axes = options_.no_dynamic_axes,
                             .shapes = options_.shapes}));
    }
    return models;
  }

  std::vector<onnx::Model> emitted_in_some_opset() {
    try {
      return emitted();
    } catch (const Error& e) {
      // Convolutions and pools of bfloat16 are newer than the usual opset. All files have the same opset.
      constexpr int with_bfloat16 = 22;
      if (e.code() != Code::node_cannot_convert || options_.dtype != DataType::bfloat16 || options_.opset)
        throw;
      report_.opset = with_bfloat16;
      return emitted();
    }
  }

  void write_models() {
    emitted_ = emitted_in_some_opset();
    report_.unexpected = file_weights_.unused(emitted_);
    std::vector<onnx::Model> models = emitted_;
    if (keeps_bits())
      for (onnx::Model& m : models) keep_bits(m, *gguf_);
    if (options_.optimize != OptimizationLevel::none) optimize_files(models);
    std::vector<std::pair<std::string, const onnx::Model*>> all;
    for (size_t i = 0; i < files_.size(); ++i) all.emplace_back(files_[i].name, &models[i]);
    onnx::Model merged;
    if (merges()) {
      const auto [first, second] = *onnx_config_->merged_submodels();
      merged = merge_decoders(models[index_of(first)], models[index_of(second)]);
      all.emplace_back(merged_name, &merged);
    }
    for (const auto& [name, model] : all) total_ += weight_bytes(*model);
    for (const auto& [name, model] : all) write(name, *model);
  }

  bool merges() const {
    const auto names = onnx_config_->merged_submodels();
    return names && !options_.no_post_process && index_of(names->first) < files_.size() &&
           index_of(names->second) < files_.size();
  }
  size_t index_of(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(files_, name, &SubModel::name) - files_.begin());
  }

  /// Optimizes all files with one opset: the requested one, or the newest that any of them needs.
  void optimize_files(std::vector<onnx::Model>& models) {
    BuildOptions build = options_.build;
    build.level = options_.optimize;
    for (size_t i = 0; i < models.size(); ++i) {
      report_progress("optimizing " + files_[i].name);
      models[i] = optimize(models[i], build, options_.opset).model;
      report_.opset = std::max(report_.opset, opset_of(models[i]));
    }
    for (onnx::Model& m : models)
      if (opset_of(m) != report_.opset) m = normalize(m, report_.opset);
  }

  void write(const std::string& name, const onnx::Model& model) {
    const std::string file = name + ".onnx";
    report_progress("writing " + file);
    onnx::SaveOptions save;
    save.data = weight_bytes(model) > external_beyond ? onnx::SaveOptions::Data::external
                                                      : onnx::SaveOptions::Data::single_file;
    save.external_name = file + "_data";
    save.external_threshold = external_threshold;
    onnx::save(
        model, stage_->path() / file, save,
        [&](uint64_t bytes) {
          written_ = std::min(written_ + bytes, total_);
          report_progress();
        },
        true);
  }

  void write_companions() {
    std::map<std::string, std::string> changed = overrides_;
    if (!config_.has("use_cache")) changed.erase("use_cache");
    AtomicFile out(stage_->path() / "config.json");
    out.write(config_text(config_json_, changed));
    out.commit();
    copy_companions(checkpoint_, stage_->path());
    if (gguf_) write_gguf_companions();
    if (!sentence_ || sentence_->encoder == checkpoint_) return;
    copy_companions(sentence_->encoder, stage_->path());
    AtomicFile modules(stage_->path() / "modules.json");
    modules.write(exported_modules(checkpoint_));
    modules.commit();
  }

  /// Writes what onnxruntime-genai and transformers need to run a decoder.
  void write_gguf_companions() {
    const bool decoder = task_ == "text-generation-with-past" && files_.size() == 1;
    for (const auto& [name, text] :
         gguf_companions(gguf_->file(), config_, decoder ? files_[0].name + ".onnx" : "", report_.left_out)) {
      AtomicFile file(stage_->path() / name);
      file.write(text);
      file.commit();
    }
  }

  // ── Validation

  void check() {
    if (!options_.reference.empty()) compare_recorded();
    if (!options_.validation) return;
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::string file = files_[i].name + ".onnx";
      report_progress("validating " + file);
      report_.validation[file] =
          validate_branches(stage_->path() / file, {branch(i)}, options_.shapes, *options_.validation);
    }
    if (!merges()) return;
    const std::string file = std::string(merged_name) + ".onnx";
    report_progress("validating " + file);
    const auto [first, second] = *onnx_config_->merged_submodels();
    const auto flag = [](bool on) {
      return NamedValues{
          {"use_cache_branch", DummyInputGenerator::constant_tensor({1}, on, DataType::boolean)}};
    };
    report_.validation[file] = validate_branches(stage_->path() / file,
                                                 {branch(index_of(first), "without past", flag(false)),
                                                  branch(index_of(second), "with past", flag(true))},
                                                 options_.shapes, *options_.validation);
  }
  /// The branch is compared with the model as it was emitted, with the weights of the checkpoint's files.
  ValidatedBranch branch(size_t file, std::string label = {}, NamedValues extra_inputs = {}) const {
    const bool merged = !label.empty();
    return {files_[file].config.get(), std::move(label), std::move(extra_inputs),
            [this, file] { return file_weights_.reread(emitted_[file]); },
            !merged && options_.optimize == OptimizationLevel::none};
  }

  void compare_recorded() {
    const ValidationOptions how = options_.validation.value_or(ValidationOptions{});
    const SubModel& f = files_.front();
    report_progress("comparing " + f.name + ".onnx");
    report_.recorded =
        compare_with_recorded(stage_->path() / (f.name + ".onnx"), options_.reference, *f.config, how);
  }

  void build_engines() {
    std::vector<std::string> names;
    for (const SubModel& f : files_) names.push_back(f.name);
    if (merges()) names.push_back(merged_name);
    for (const std::string& name : names) {
      report_progress("building " + name + ".lathe");
      Engine::build(stage_->path() / (name + ".onnx"), options_.build)
          .save(stage_->path() / (name + ".lathe"));
    }
  }

  void list_files() {
    for (const auto& entry : fs::recursive_directory_iterator(stage_->path()))
      if (entry.is_regular_file())
        report_.files.push_back(
            {entry.path().lexically_relative(stage_->path()).string(), entry.file_size()});
    std::ranges::sort(report_.files, {}, &ExportReport::File::name);
  }

  const std::shared_ptr<const GgufSource> gguf_;  // the source, if it is a GGUF file
  const fs::path checkpoint_;
  const ExportOptions& options_;
  const TasksManager& tasks_;
  const std::string library_;
  const std::optional<SentenceCheckpoint> sentence_;  // an encoder of sentences, with the modules behind it
  const fs::path architecture_;                       // the folder of config.json and the weights
  const std::string config_json_;
  const ModelConfig config_;
  const fs::path output_;
  std::string task_, stage_text_;
  std::string exported_type_;  // the model type under which configs are registered
  std::map<std::string, std::string> overrides_;
  std::shared_ptr<OnnxConfig> onnx_config_;
  std::vector<SubModel> files_;
  std::unique_ptr<nn::Model> model_;
  FileWeights file_weights_;
  std::vector<onnx::Model> emitted_;  // one for each of files_, as emitted
  StagedDirectory* stage_ = nullptr;
  uint64_t written_ = 0, total_ = 0;
  ExportReport report_;
};

}  // namespace

ExportReport export_checkpoint(const fs::path& checkpoint, const fs::path& output,
                               const ExportOptions& options) {
  check_exists(checkpoint);
  return Exporter(checkpoint, output, options).run();
}

ExportedDecoder export_decoder(const fs::path& checkpoint, ExportOptions options) {
  check_exists(checkpoint);
  options.task = "text-generation-with-past";
  // Weights that are converted on the way are written to a file there, and removed.
  return Exporter(checkpoint, fs::temp_directory_path(), options).decoder();
}

}  // namespace lathe::exporters
