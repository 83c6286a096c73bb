// `lathe export`: a published checkpoint becomes ONNX files that were run and compared.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "command.h"
#include "json.h"
#include "lathe/exporters.h"
#include "mapped_fault.h"
#include "model_options.h"
#include "progress.h"
#include "shape_options.h"
#include "text.h"

namespace lathe::cli {
namespace {

using exporters::ExportReport;
using exporters::ValidationReport;
using exporters::ValidationRun;

struct ExportArguments {
  std::filesystem::path checkpoint, output;
  exporters::ExportOptions export_;
  std::string optimize;
  double atol = -1, ulps = -1, seconds = exporters::ValidationOptions().seconds;
  double memory = static_cast<double>(exporters::ValidationOptions().memory_limit >> 30);
  int64_t pad_token_id = -1;
  int threads = 0;
  uint64_t memory_limit = 0;
  bool no_validation = false, untrusted = false;
};

/// O1 to O3 as Optimum counts them.
OptimizationLevel level_of(const std::string& optimize) {
  if (optimize.empty()) return OptimizationLevel::none;
  if (optimize == "O1") return OptimizationLevel::basic;
  if (optimize == "O2") return OptimizationLevel::extended;
  if (optimize == "O3") return OptimizationLevel::all;
  throw Error(Code::not_supported, "command line", "--optimize O1, O2 or O3", "'" + optimize + "'",
              optimize == "O4" ? "--dtype fp16 makes the weights half as large" : "");
}

exporters::ExportOptions export_options(const ExportArguments& o, Progress& progress) {
  exporters::ExportOptions e = o.export_;
  e.optimize = level_of(o.optimize);
  e.build.threads = o.threads;
  e.build.memory_limit = o.memory_limit;
  e.load.untrusted = o.untrusted;
  if (o.pad_token_id >= 0) e.pad_token_id = o.pad_token_id;
  if (o.no_validation) {
    e.validation.reset();
  } else {
    e.validation->seconds = o.seconds;
    e.validation->memory_limit = static_cast<uint64_t>(o.memory * static_cast<double>(uint64_t{1} << 30));
    e.validation->build.threads = o.threads;
    e.validation->build.memory_limit = o.memory_limit;
    if (o.atol >= 0) e.validation->atol = o.atol;
    if (o.ulps >= 0) e.validation->ulps = o.ulps;
  }
  e.progress = [&progress](const exporters::ExportProgress& p) {
    const std::string stage(p.stage);
    if (p.total_bytes == 0)
      progress.stage(stage);
    else
      progress.stage(stage + ", " + bytes_text(p.bytes) + " of " + bytes_text(p.total_bytes),
                     static_cast<double>(p.bytes) / static_cast<double>(p.total_bytes));
    return true;
  };
  return e;
}

Json as_json(const ValidationRun& run) {
  Json outputs = Json::array();
  for (const auto& o : run.outputs)
    outputs.push_back({{"name", o.name},
                       {"shape", to_json(o.shape)},
                       {"engine_ulps", o.engine_ulps},
                       {"reference_ulps", o.reference_ulps},
                       {"allowed_ulps", o.allowed_ulps},
                       {"largest_difference", o.absolute}});
  return {{"sizes", run.sizes}, {"seed", run.seed}, {"beyond_atol", run.beyond_atol}, {"outputs", outputs}};
}

Json as_json(const ExportReport& r, const std::filesystem::path& output) {
  Json files = Json::array();
  for (const auto& f : r.files) files.push_back({{"name", f.name}, {"bytes", f.bytes}});
  Json validation = Json::object();
  for (const auto& [file, v] : r.validation) {
    Json runs = Json::array();
    for (const ValidationRun& run : v.runs) runs.push_back(as_json(run));
    validation[file] = {{"runs", runs}, {"skipped", v.skipped}, {"one_size", v.one_size}};
  }
  Json all{{"output", output.string()},  {"model_type", r.model_type},
           {"library", r.library},       {"task", r.task},
           {"opset", r.opset},           {"files", files},
           {"unexpected", r.unexpected}, {"untied", r.untied},
           {"left_out", r.left_out},     {"validation", validation}};
  if (r.recorded) all["recorded"] = as_json(*r.recorded);
  return all;
}

void print_validation(const std::string& file, const ValidationReport& v) {
  for (const std::string& s : v.skipped) fmt::print("{}: not run: {}\n", file, s);
  if (!v.one_size.empty())
    fmt::print("{}: run with {} only, as the configuration says\n", file, join(v.one_size, ", "));
  if (v.runs.empty()) return;
  double ulps = 0, allowed = 1;  // of the output that is nearest to its bound
  bool beyond = false;
  for (const ValidationRun& run : v.runs) {
    beyond = beyond || run.beyond_atol;
    for (const auto& o : run.outputs)
      if (o.engine_ulps * allowed > ulps * o.allowed_ulps) ulps = o.engine_ulps, allowed = o.allowed_ulps;
  }
  fmt::print("{}: {} with float64 ({:.1f} units in the last place, of {:.0f} allowed){}\n", file,
             v.runs.size() == 1 ? "1 run agrees" : counted(v.runs.size(), "run") + " agree", ulps, allowed,
             beyond ? "; some differ by more than the config's atol" : "");
}

int run_export(const ExportArguments& o, bool json) {
  report_mapped_faults(o.checkpoint, json);
  Progress progress("exporting " + o.checkpoint.string());
  const ExportReport r = exporters::export_checkpoint(o.checkpoint, o.output, export_options(o, progress));
  if (json) {
    print(as_json(r, o.output));
    return success;
  }
  fmt::print("{} for {}, opset {}\n", r.model_type, r.task, r.opset);
  Table files;
  for (const auto& f : r.files) files.add({f.name, bytes_text(f.bytes)});
  files.print();
  if (!r.unexpected.empty()) fmt::print("warning: not used: {}\n", join(r.unexpected, ", "));
  if (!r.untied.empty())
    fmt::print("warning: not tied, as the checkpoint has weights of their own: {}\n", join(r.untied, ", "));
  for (const std::string& why : r.left_out) fmt::print("warning: not written: {}\n", why);
  for (const auto& [file, v] : r.validation) print_validation(file, v);
  if (r.recorded) print_validation(r.recorded->file + " beside what was recorded", {{*r.recorded}, {}, {}});
  return success;
}

void add_what(CLI::App* sub, ExportArguments& o) {
  exporters::ExportOptions& e = o.export_;
  sub->add_option("--task", e.task,
                  "What for: fill-mask, text-generation-with-past, …; auto: what it was made for")
      ->capture_default_str();
  sub->add_option("--opset", e.opset,
                  "The opset to write; 0: what the architecture's configuration says, or a newer one "
                  "that --optimize needs")
      ->check(not_negative);
  const std::pair<const char*, DataType> types[] = {
      {"fp32", DataType::float32}, {"fp16", DataType::float16}, {"bf16", DataType::bfloat16}};
  add_choice(sub, "--dtype", e.dtype, types, "Of weights and results: fp32, fp16, bf16");
  sub->add_option("--optimize", o.optimize, "Write what the optimizer makes of it: O1, O2, O3")
      ->type_name("LEVEL");
  sub->add_flag("--monolith", e.monolith, "One file, also of an encoder with a decoder");
  sub->add_flag("--no-post-process", e.no_post_process,
                "Do not merge decoders into decoder_model_merged.onnx");
  sub->add_flag("--widen-weights", e.widen_weights,
                "Write weights as floats that a GGUF file has in blocks of a few bits");
  sub->add_flag("--no-dynamic-axes", e.no_dynamic_axes, "Fix all sizes to those of the synthetic inputs");
  sub->add_flag("--legacy", e.legacy, "Models that are a decoder alone as two files, without and with past");
  sub->add_option("--variant", e.variant, "One of the ways in which an architecture can be exported")
      ->capture_default_str();
  sub->add_option("--library-name", e.library,
                  "transformers, sentence_transformers; by the files where left out");
  sub->add_option("--pad-token-id", o.pad_token_id,
                  "Of padding, where config.json and tokenizer do not say it")
      ->check(not_negative);
  sub->add_flag("--engine", e.engine, "Also make a plan of every model, ready to run");
}

void add_proof(CLI::App* sub, ExportArguments& o) {
  sub->add_flag("--no-validation", o.no_validation, "Do not run what was written");
  sub->add_option("--atol", o.atol, "Refuse a difference from float64 of more than this")
      ->check(not_negative);
  sub->add_option("--ulps", o.ulps,
                  "Refuse one of more units in the last place of an output's largest number (half floats 64; "
                  "else 1024, "
                  "or what the model makes of rounding)")
      ->check(not_negative);
  sub->add_option("--validation-seconds", o.seconds, "Begin no further run after that long")
      ->capture_default_str()
      ->check(not_negative);
  sub->add_option("--validation-memory", o.memory,
                  "GiB that weights may take as float64; the engine's own copy at most half of it")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  sub->add_option(
         "--reference", o.export_.reference,
         "Compare with inputs and outputs that somebody recorded: .safetensors or .npz, by their names")
      ->type_name("FILE");
  sub->add_option("--threads", o.threads, "Threads to use; 0: as `lathe info` says")->check(not_negative);
  add_memory_limit(sub, o.memory_limit);
  sub->add_flag("--untrusted", o.untrusted, "Read weights into memory: files may change meanwhile");
}

}  // namespace

void add_export(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "export", "Turn a checkpoint (config.json and weights) into ONNX files",
              "  lathe export checkpoint -o exported\n"
              "  lathe export checkpoint --task feature-extraction -o exported --engine\n"
              "  lathe export checkpoint -o exported --dtype fp16 --no-validation\n"
              "  lathe export checkpoint -o exported --reference recorded.safetensors --json\n");
  auto options = std::make_shared<ExportArguments>();
  sub->add_option("checkpoint", options->checkpoint,
                  "A directory with config.json and weights, or a .gguf file")
      ->required()
      ->type_name("DIR");
  sub->add_option("-o,--output", options->output, "The directory for the files; made where it is not there")
      ->required()
      ->type_name("DIR");
  add_what(sub, *options);
  add_proof(sub, *options);
  add_shapes(sub, options->export_.shapes);
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_export(*options, command.json); };
  });
}

}  // namespace lathe::cli
