// `lathe convert`: the same model in another file: external data or not, text, normalized, or a plan.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>

#include "command.h"
#include "json.h"
#include "mapped_fault.h"
#include "model_options.h"
#include "output.h"
#include "progress.h"

namespace lathe::cli {
namespace {

struct ConvertArguments {
  ModelOptions model;
  EngineOptions engine;
  std::filesystem::path output;
  bool external = false, single = false, normalize = false, optimize = false;
  std::string external_name;
  int64_t threshold = 1024;
  int opset = 0;
};

onnx::SaveOptions save_options(const ConvertArguments& o) {
  onnx::SaveOptions s;
  if (o.external) s.data = onnx::SaveOptions::Data::external;
  if (o.single) s.data = onnx::SaveOptions::Data::single_file;
  s.external_name = o.external_name;
  s.external_threshold = o.threshold;
  s.text = o.output.extension() == ".onnxtxt" || o.output.extension() == ".txt";
  return s;
}

/// How often each pass of the optimizer found something.
std::map<std::string, int> counts(const OptimizedModel& m) {
  std::map<std::string, int> by_pass;
  for (const OptimizedModel::Patch& p : m.patches) ++by_pass[p.pass];
  return by_pass;
}

/// Throws bad_argument if a model's file has the ending of another format.
void check_name_of_model(const std::filesystem::path& output) {
  struct Format {
    const char *ending, *name;
  };
  constexpr Format others[] = {{".tflite", "TensorFlow Lite"},
                               {".lite", "TensorFlow Lite"},
                               {".h5", "Keras"},
                               {".hdf5", "Keras"},
                               {".keras", "Keras"},
                               {".pt", "PyTorch"},
                               {".pth", "PyTorch"},
                               {".pt2", "PyTorch"},
                               {".pte", "ExecuTorch"},
                               {".ptl", "PyTorch"},
                               {".torchscript", "PyTorch"},
                               {".ckpt", "a checkpoint"},
                               {".safetensors", "safetensors"},
                               {".gguf", "GGUF"},
                               {".ggml", "GGML"},
                               {".npz", "NumPy"},
                               {".npy", "NumPy"},
                               {".ort", "ONNX Runtime's own format"},
                               {".engine", "TensorRT"},
                               {".plan", "TensorRT"},
                               {".trt", "TensorRT"},
                               {".uff", "TensorRT"},
                               {".xml", "OpenVINO"},
                               {".bin", "OpenVINO or PyTorch"},
                               {".blob", "OpenVINO"},
                               {".mlmodel", "Core ML"},
                               {".mlpackage", "Core ML"},
                               {".mlmodelc", "Core ML"},
                               {".caffemodel", "Caffe"},
                               {".prototxt", "Caffe"},
                               {".pdmodel", "PaddlePaddle"},
                               {".pdiparams", "PaddlePaddle"},
                               {".params", "MXNet"},
                               {".param", "ncnn"},
                               {".ncnn", "ncnn"},
                               {".mnn", "MNN"},
                               {".rknn", "RKNN"},
                               {".dlc", "SNPE"},
                               {".om", "CANN"},
                               {".nnef", "NNEF"},
                               {".mlir", "MLIR"},
                               {".pkl", "pickle"},
                               {".joblib", "joblib"},
                               {".json", "JSON"},
                               {".pmml", "PMML"},
                               {".zip", "zip"},
                               {".html", "HTML"},
                               {".svg", "SVG"},
                               {".dot", "Graphviz"}};
  std::string ending = output.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto of_others = std::ranges::find(others, ending, &Format::ending);
  if (of_others != std::end(others))
    throw Error(Code::bad_argument, "write", "a file that ends in .onnx, .onnxtxt, .txt or .lathe",
                "'" + output.string() + "', which is a name for " + of_others->name,
                "Lathe writes ONNX, its text, and plans: name the output as one of these");
}

int run_convert(const ConvertArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  check_name_of_model(o.output);
  const OutputFile output(o.output);
  Progress progress("converting " + o.model.model.string());
  std::map<std::string, int> patches;
  if (o.output.extension() == ".lathe") {
    make_engine(o.model, o.engine.build_options(o.model)).save(output.path());
  } else {
    onnx::Model model = o.model.load();
    if (o.normalize || (o.opset != 0 && !o.optimize)) model = normalize(model, o.opset);
    if (o.optimize) {
      OptimizedModel better = optimize(model, o.engine.build_options(o.model), o.opset);
      patches = counts(better);
      model = std::move(better.model);
    }
    save(model, output.path(), save_options(o));
  }
  if (json) {
    print({{"output", output.name()}, {"bytes", to_json(output.bytes())}, {"patches", patches}});
  } else {
    fmt::print("{}\n", output.report());
    for (const auto& [pass, count] : patches) fmt::print("  {} {}\n", pass, count);
  }
  return success;
}

}  // namespace

void add_convert(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "convert", "Write a model in another form",
                          "  lathe convert model.onnx -o out.onnx --external-data\n"
                          "  lathe convert out.onnx -o single.onnx --single-file\n"
                          "  lathe convert model.onnx -o model.onnxtxt\n"
                          "  lathe convert model.onnx -o normal.onnx --normalize\n"
                          "  lathe convert model.onnx -o old.onnx --opset 13\n"
                          "  lathe convert model.onnx -o better.onnx --optimize --level basic\n"
                          "  lathe convert model.onnx -o model.lathe\n");
  auto options = std::make_shared<ConvertArguments>();
  options->model.add_to(sub);
  sub->add_option(
         "-o,--output", options->output,
         "Where to; .onnxtxt (or .txt) writes ONNX text, .lathe a plan that is ready to run; - is standard "
         "output")
      ->required()
      ->type_name("FILE");
  CLI::Option* external =
      sub->add_flag("--external-data", options->external, "Put weights into a file of their own");
  sub->add_flag("--single-file", options->single, "Put everything into one file")->excludes(external);
  sub->add_option("--external-name", options->external_name, "Name of the weights' file, beside the output");
  sub->add_option("--threshold", options->threshold, "Weights smaller than this many bytes stay inside")
      ->capture_default_str()
      ->check(not_negative);
  sub->add_flag("--normalize", options->normalize,
                "Import it and write it at the lowest opset and IR version that can say it");
  sub->add_flag("--optimize", options->optimize,
                "Write what the optimizer makes of it (see --level and --passes)");
  sub->add_option(
         "--opset", options->opset,
         "The opset to write, up or down: --optimize then finds only what it can say; 0: with --normalize "
         "the lowest that says the model, with --optimize the model's own, or the next that says what became "
         "of it")
      ->check(not_negative);
  options->engine.add_to(sub);
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_convert(*options, command.json); };
  });
}

}  // namespace lathe::cli
