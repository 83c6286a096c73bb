// Exports a published checkpoint (config.json and weights) to ONNX files, runs and compares them: as Hugging
// Face Optimum does, with its names, without Python and PyTorch.
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

#include "lathe/build_options.h"
#include "lathe/exporters/configs.h"
#include "lathe/exporters/dummy_inputs.h"
#include "lathe/exporters/normalized_config.h"
#include "lathe/exporters/onnx_config.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {

/// Options of validate().
struct ValidationOptions {
  /// The largest difference from what the same graph gives in float64 that an output element may have, in
  /// units in the last place (ULPs) of the output's largest number. Nothing: 64 for float16 and bfloat16,
  /// else 1024, or where that does not suffice, 8 times what the output moves in float64 if all weights are
  /// off by half a unit, at most 65536.
  std::optional<double> ulps = {};
  /// The largest absolute difference, besides 1e-5 of the element. Nothing: the config's
  /// atol_for_validation(), and exceeding it is reported but is no error.
  std::optional<double> atol = {};
  double seconds = 60;  // seconds after which nothing more is begun
  int seeds = 2;        // seeds of inputs for every set of sizes
  /// Bytes that weights may take as float64. Where they take more, engine and reference are compared with
  /// each other; where the engine's copy alone would take half of it, only types and shapes are checked.
  uint64_t memory_limit = uint64_t{4} << 30;
  BuildOptions build = {};  // options of the engine that is compared
};

/// Describes one run of an exported file.
struct ValidationRun {
  std::string file;   // name of the file: "model.onnx"
  std::string sizes;  // "batch_size=3, sequence_length=7"
  uint64_t seed = 0;  // seed of the inputs
  /// Describes one output of the run.
  struct Output {
    std::string name;                            // in the file
    Shape shape;                                 // in this run
    double engine_ulps = 0, reference_ulps = 0;  // differences from float64
    double allowed_ulps = 0;                     // bound of both
    double absolute = 0;                         // largest difference of the engine from float64
  };
  std::vector<Output> outputs;  // in the order of the file
  bool beyond_atol = false;     // a difference is larger than the config's atol
};
/// The result of validate().
struct ValidationReport {
  std::vector<ValidationRun> runs;   // all runs that were made
  std::vector<std::string> skipped;  // names of what was not run, and reasons
  /// Sizes that the file leaves open and that were the same in every run since the configuration decides
  /// them: "height=224". Nothing was proved for other values of them.
  std::vector<std::string> one_size;
};

/// Runs the files in a directory on inputs of several sizes and seeds, which the config generates, on the
/// engine, on the reference and in float64. Throws Code::run_bad_value, which names file and output, where an
/// output is beyond `ulps` or `atol`; Code::node_bad_shape where its name, rank or sizes are not what the
/// config says; what reading the file and running throw. Optimum: validate_model_outputs.
LATHE_API ValidationReport validate(const std::filesystem::path& model, const OnnxConfig& config,
                                    const DummyShapes& shapes = {}, const ValidationOptions& options = {});

/// Compares the model with outputs that somebody else recorded for inputs; both are in one safetensors file
/// or .npz, named after inputs and outputs. Throws as validate() does, and Code::run_missing_input where it
/// lacks an input.
LATHE_API ValidationRun compare_with_recorded(const std::filesystem::path& model,
                                              const std::filesystem::path& recorded, const OnnxConfig& config,
                                              const ValidationOptions& options = {});

/// Describes how far an export is.
struct ExportProgress {
  std::string_view stage;    // "binding", "writing model.onnx", "validating model.onnx", …
  uint64_t bytes = 0;        // bytes of weights written
  uint64_t total_bytes = 0;  // bytes of weights to write; 0: not known yet
};

/// Options of export_checkpoint(). Most have the names of Optimum's main_export.
struct ExportOptions {
  /// Task of the model; "auto" is the one that the checkpoint was made for, with past keys and values where
  /// there are some.
  std::string task = "auto";
  /// Opset of the files; 0 is the config's own, 18, or a newer one where bfloat16 (22) or `optimize` needs
  /// it.
  int opset = 0;
  /// Type of the weights: float32, float16 or bfloat16; weights of another type are converted.
  DataType dtype = DataType::float32;
  DataType int_type = DataType::int64;  // integer type of the inputs
  /// Level of the graph optimizer; none keeps the operators that PyTorch's exporter would write. Where an
  /// opset is given, only rewrites that it can express are made.
  OptimizationLevel optimize = OptimizationLevel::none;
  bool monolith = false;         // one file for an encoder-decoder
  bool no_post_process = false;  // keep the decoders apart instead of merging them
  bool no_dynamic_axes = false;  // fix all sizes to those of `shapes`
  /// Writes weights as floats that a GGUF file has in blocks of a few bits. Otherwise matrices stay whole
  /// numbers with scales, in opset 21 or, with numbers of 2 bits, 25, if `dtype` is float32.
  bool widen_weights = false;
  bool legacy = false;                       // split decoders as older versions did
  std::optional<int64_t> pad_token_id = {};  // for text classification without one in config.json
  std::string variant = "default";           // variant of the config
  std::string library = {};  // name of the source library; empty: decided by the files of the checkpoint
  DummyShapes shapes = {};   // sizes of the inputs that the config generates
  /// Configs to use instead of the tasks manager's, by file ("model", "decoder_model").
  std::map<std::string, std::shared_ptr<OnnxConfig>> custom_onnx_configs = {};
  /// How the files are validated; nothing: not at all.
  std::optional<ValidationOptions> validation = ValidationOptions{};
  std::filesystem::path reference = {};  // recorded outputs for compare_with_recorded(), with the first file
  /// Also writes a plan beside every .onnx, ready to run.
  bool engine = false;
  BuildOptions build = {};              // options of those plans
  CheckpointOptions load = {};          // how the checkpoint is opened
  const TasksManager* tasks = nullptr;  // known architectures; null: TasksManager::builtin()
  /// Called with the state of the export; where it returns false the export throws Code::cancelled.
  std::function<bool(const ExportProgress&)> progress = {};
};

/// The result of export_checkpoint().
struct ExportReport {
  std::string model_type, library, task;  // names of the exported architecture, its library and its task
  int opset = 0;                          // opset of every file
  /// Describes one file of the export.
  struct File {
    std::string name;    // name of the file: "model.onnx", "config.json", …
    uint64_t bytes = 0;  // size of the file
  };
  std::vector<File> files;  // in the order of their names
  /// Names of the checkpoint's tensors whose elements are in no file: the task does not use them, or they are
  /// another name for something else.
  std::vector<std::string> unexpected;
  /// Names of parameters that the configuration ties although the checkpoint has separate weights for them.
  std::vector<std::string> untied;
  /// Names of files that a GGUF file gave no material for, with the reasons: "tokenizer.json: …".
  std::vector<std::string> left_out;
  /// Result of the validation for each file; it compares with the architecture, with the weights as the
  /// checkpoint has them.
  std::map<std::string, ValidationReport> validation;
  std::optional<ValidationRun> recorded;  // result for ExportOptions::reference
};

/// Exports the checkpoint in a directory into another one, which is created. Nothing is left in it unless all
/// went well: files are written and validated beside it, then renamed. Weights go from the mapped checkpoint
/// to the output; beyond 2 GB they are in NAME.onnx_data. Optimum: main_export.
///
/// Throws what opening the checkpoint throws; bad_argument for an unknown task, or one that cannot be
/// inferred; not_supported for an architecture or task that nobody registered; what Module::bind throws for
/// tensors that are missing or of another shape; node_cannot_convert for an opset that cannot express the
/// model; what validate() throws; file_write_failed; cancelled.
LATHE_API ExportReport export_checkpoint(const std::filesystem::path& checkpoint,
                                         const std::filesystem::path& output,
                                         const ExportOptions& options = {});

}  // namespace lathe::exporters
