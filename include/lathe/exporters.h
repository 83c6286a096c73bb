// From a checkpoint as it is published (config.json and weights) to ONNX files that were run and compared:
// Hugging Face Optimum's job, with its words, without Python and PyTorch.
//
//   lathe::exporters::export_checkpoint("bert-base-uncased", "bert_onnx", {.task = "fill-mask"});
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/engine.h"
#include "lathe/exporters/configs.h"
#include "lathe/exporters/dummy_inputs.h"
#include "lathe/exporters/normalized_config.h"
#include "lathe/exporters/onnx_config.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {

/// What a validation runs and how exact it wants it.
struct ValidationOptions {
  /// Of the largest number of an output, in units in the last place of its type, how far an element may be
  /// from what the same graph gives in float64. Nothing: 1024, of float16 and bfloat16 64.
  std::optional<double> ulps = {};
  /// And absolutely, besides 1e-5 of its own size. Nothing: the config's own, and going beyond is told but no
  /// error.
  std::optional<double> atol = {};
  double seconds = 60;  // after which nothing further is begun
  int seeds = 2;        // of inputs, for every set of sizes
  /// Bytes that weights may take as float64. Where they take more, engine and reference are compared with each
  /// other; where the engine's own copy alone would take half of it, only types and shapes are checked.
  uint64_t memory_limit = uint64_t{4} << 30;
  BuildOptions build = {};  // of the engine
};

/// One run of an exported file.
struct ValidationRun {
  std::string file;   // "model.onnx"
  std::string sizes;  // "batch_size=3, sequence_length=7"
  uint64_t seed = 0;
  struct Output {
    std::string name;
    Shape shape;
    double engine_ulps = 0, reference_ulps = 0;  // from float64
    double absolute = 0;                         // largest difference of the engine from float64
  };
  std::vector<Output> outputs;
  bool beyond_atol = false;
};
struct ValidationReport {
  std::vector<ValidationRun> runs;
  std::vector<std::string> skipped;  // what was not run, and why
  /// Sizes that the file leaves open and that were the same in every run, since the configuration says them:
  /// "height=224". Of others nothing was proved.
  std::vector<std::string> one_size;
};

/// Runs what is in the directory: inputs of several sizes and seeds, made up by the config, on the engine, on
/// the reference and in float64. Throws Code::run_bad_value where an output is beyond `ulps` or `atol`,
/// Code::node_bad_shape where its name, rank or sizes are not what the config says, told file and output, what
/// reading the file finds, and what running throws.
LATHE_API ValidationReport validate(const std::filesystem::path& model, const OnnxConfig& config,
                                    const DummyShapes& shapes = {}, const ValidationOptions& options = {});

/// Compares the model with outputs that somebody else recorded for inputs, both in one file: a safetensors
/// file or .npz whose tensors are named after inputs and outputs. Throws as validate() does, and
/// Code::run_missing_input where it lacks an input.
LATHE_API ValidationRun compare_with_recorded(const std::filesystem::path& model,
                                              const std::filesystem::path& recorded,
                                              const OnnxConfig& config, const ValidationOptions& options = {});

/// What has been done of an export.
struct ExportProgress {
  std::string_view stage;    // "binding", "writing model.onnx", "validating model.onnx", …
  uint64_t bytes = 0;        // of weights written
  uint64_t total_bytes = 0;  // of weights to write; 0: not known yet
};

struct ExportOptions {
  /// "auto": what the checkpoint was made for, with past where there is one.
  std::string task = "auto";
  /// 0: what the config says, 18; a newer one where bfloat16 (22) or what `optimize` finds need it.
  int opset = 0;
  /// float32, float16 or bfloat16; weights of another type are converted.
  DataType dtype = DataType::float32;
  DataType int_type = DataType::int64;
  /// none: the operators as PyTorch's exporter would write them. Where an opset is asked for, only what it
  /// can say is looked for.
  OptimizationLevel optimize = OptimizationLevel::none;
  bool monolith = false;
  bool no_post_process = false;  // decoders are not merged
  bool no_dynamic_axes = false;  // all sizes are those of `shapes`
  bool legacy = false;
  std::optional<int64_t> pad_token_id = {};
  std::string variant = "default";
  std::string library = {};  // empty: by the files of the checkpoint
  DummyShapes shapes = {};
  /// Configs that go before the tasks manager's, by file ("model", "decoder_model").
  std::map<std::string, std::shared_ptr<OnnxConfig>> custom_onnx_configs = {};
  /// Nothing: nothing is run.
  std::optional<ValidationOptions> validation = ValidationOptions{};
  std::filesystem::path reference = {};  // compare_with_recorded() with the first file
  /// A plan beside every .onnx, ready to run.
  bool engine = false;
  BuildOptions build = {};
  CheckpointOptions load = {};
  const TasksManager* tasks = nullptr;  // null: TasksManager::builtin()
  /// Returns false to cancel (Code::cancelled).
  std::function<bool(const ExportProgress&)> progress = {};
};

struct ExportReport {
  std::string model_type, library, task;
  int opset = 0;  // of every file
  struct File {
    std::string name;    // "model.onnx", "config.json", …
    uint64_t bytes = 0;
  };
  std::vector<File> files;
  /// Tensors of the checkpoint whose elements are in no file: what the task has no use for, and what is another
  /// name for something else.
  std::vector<std::string> unexpected;
  /// Parameters that the configuration ties and that the checkpoint has weights of their own for.
  std::vector<std::string> untied;
  /// By file: against the architecture with the weights as the checkpoint's files have them.
  std::map<std::string, ValidationReport> validation;
  std::optional<ValidationRun> recorded;
};

/// Exports the checkpoint in a directory into another, which is made. Nothing is left in it unless all went
/// well: files are written and validated beside it, then renamed. Weights go from the mapped checkpoint to the
/// output; beyond 2 GB they lie in NAME.onnx_data.
///
/// Throws what opening the checkpoint throws; bad_argument for an unknown task, or one that cannot be told;
/// not_supported for an architecture or task that nobody registered; what binding throws for tensors that are
/// missing or of another shape; node_cannot_convert for an opset that cannot say the model; what validate()
/// throws; file_write_failed; cancelled.
LATHE_API ExportReport export_checkpoint(const std::filesystem::path& checkpoint,
                                         const std::filesystem::path& output,
                                         const ExportOptions& options = {});

}  // namespace lathe::exporters
