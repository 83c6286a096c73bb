// `lathe build`: a plan that opens in milliseconds, from a model.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "command.h"
#include "generation_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "model_options.h"
#include "output.h"
#include "progress.h"
#include "stop_signals.h"
#include "text.h"
#include "tune_options.h"

namespace lathe::cli {
namespace {

struct BuildArguments {
  ModelOptions model;
  EngineOptions engine;
  ShapeOptions shape;
  TuneOptions tune;
  std::filesystem::path output;
  std::string kv_type;
  bool native = false;
};

/// Counts of the engine's steps: fused, by reference kernels, and in strict numerics.
struct Made {
  explicit Made(const Engine& e) {
    for (const StepInfo& s : e.steps()) {
      ++steps;
      fused += s.fused.size();
      reference += s.backend == "reference";
      strict += !s.strict.empty();
    }
  }
  size_t steps = 0, fused = 0, reference = 0, strict = 0;
};

/// The timings of each step, and the choice.
Json timings_json(const Engine& e) {
  Json list = Json::array();
  for (const StepInfo& s : e.steps())
    if (!s.timings.empty()) list.push_back({{"node", s.node}, {"op", s.op}, {"timings", to_json(s.timings)}});
  return list;
}

Generator build_generator(const BuildArguments& o, BuildOptions options) {
  if (!o.shape.shapes.empty() || !o.engine.states.empty() || !o.engine.ranges.empty() || o.engine.refit)
    refuse_argument("a language model, whose shapes and states are known, without refit",
                    "--shape, --states, --range or --refit", "name an .onnx file for these");
  options.load = o.model.load_options();
  const int64_t usual = BuildOptions().state_capacity;
  return Generator::open(o.model.model,
                         {.build = std::move(options),
                          .context_length = o.engine.state_capacity == usual ? 0 : o.engine.state_capacity,
                          .kv_type = kv_type_of(o.kv_type)});
}

int run_build(const BuildArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  const OutputFile output(o.output.empty() ? std::filesystem::path(o.model.model).replace_extension(".lathe")
                                           : o.output);
  const auto start = std::chrono::steady_clock::now();
  Progress progress("building " + o.model.model.string());
  BuildOptions options = o.engine.build_options(o.model);
  options.portable = !o.native;
  std::optional<Generator> generator;
  const auto build_engine = [&] {
    const onnx::Model model = o.model.load();
    if (!o.shape.shapes.empty()) options.shapes = known_symbols(inspect(model).inputs, o.shape.parse());
    o.tune.apply(options, progress);
    return Engine::build(model, options);
  };
  if (is_language_model(o.model.model)) {
    o.tune.apply(options, progress);
    generator = build_generator(o, options);
  }
  const Engine engine = generator ? generator->engine() : build_engine();
  progress.stage("save");
  end_on_signals();  // nobody looks at the control while a file is written
  options.control->check();
  generator ? generator->save(output.path()) : engine.save(output.path());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const Made made(engine);
  if (json) {
    Json all{{"output", output.name()},
             {"bytes", to_json(output.bytes())},
             {"steps", made.steps},
             {"fused_operators", made.fused},
             {"reference_steps", made.reference},
             {"numerics", name_of(engine.numerics())},
             {"strict_steps", made.strict},
             {"seconds", took.count()}};
    if (o.tune.any()) {
      all["tuning"] = to_json(engine.tuning());
      all["tuning"]["steps"] = timings_json(engine);
    }
    print(all);
  } else {
    if (o.tune.any()) fmt::print("{}\n", text_of(engine.tuning()));
    fmt::print("{}, {} ({} fused, {} on reference kernels), {}\n", output.report(),
               counted(made.steps, "step"), counted(made.fused, "operator"), made.reference,
               time_text(took.count()));
    fmt::print("{}", defaults_text(engine.inputs()));
    // Language models are always strict.
    if (engine.numerics() == Numerics::strict && !generator)
      fmt::print(
          "strict numerics: {} of {} work in another way than usual (`lathe inspect --steps` says how, "
          "`lathe bench --numerics strict` what it costs)\n",
          made.strict, counted(made.steps, "step"));
  }
  return success;
}

}  // namespace

void add_build(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "build",
              "Make a plan that is ready to run: of a model, or of a language model with its tokenizer",
              "  lathe build model.onnx -o model.lathe\n"
              "  lathe build model.onnx --shape batch=8 --isa avx2\n"
              "  lathe build model.onnx --native\n"
              "  lathe build model.onnx --range x=1x3:8x3:64x3\n"
              "  lathe build model.onnx --effort normal --tune-seconds 30 --timing-cache times.json\n"
              "  lathe build model.onnx --timing-cache times.json --pin\n"
              "  lathe build decoder -o decoder.lathe\n"
              "  lathe run model.lathe\n");
  auto options = std::make_shared<BuildArguments>();
  options->model.add_to(sub);
  sub->get_option("MODEL")->description(
      "An .onnx file, or ONNX text (.onnxtxt); a language model: a .gguf, or a directory with a checkpoint "
      "or an exported decoder");
  sub->add_option("-o,--output", options->output,
                  "Where to; the model's name with .lathe where left out; - is standard output")
      ->type_name("PLAN");
  sub->add_flag(
      "--native", options->native,
      "Leave out what other processors would need: a smaller plan, for machines with these instructions");
  options->shape.add_to(sub);
  options->engine.add_to(sub);
  options->tune.add_to(sub);
  add_kv_type(sub, options->kv_type);
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_build(*options, command.json); };
  });
}

}  // namespace lathe::cli
