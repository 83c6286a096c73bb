// `lathe run`: one run, with inputs from files or random ones; outputs are summarized, written, or compared.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "command.h"
#include "input_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "progress.h"
#include "text.h"
#include "value_files.h"

namespace lathe::cli {
namespace {

struct RunArguments {
  ModelOptions model;
  EngineOptions engine;
  InputOptions input;
  std::filesystem::path expect_dir, output_dir;
  double atol = 1e-5, rtol = 1e-3;
  std::vector<std::string> taps;
};

/// A value that went in, came out or passed by, as it is reported.
struct Report {
  std::string name;
  Json json;
  std::string text;
};

std::string summary_text(const Value& v) {
  std::string text = describe(v);
  if (!v.is_tensor()) return text;
  if (const auto s = statistics(v.tensor())) {
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", s->min, s->max, s->mean);
    if (s->nans) text += fmt::format("  {} NaN", s->nans);
    if (s->infinities) text += fmt::format("  {} infinite", s->infinities);
  }
  const auto first = first_elements(v.tensor(), 6);
  text += "  [" + join(first, ", ") + (v.tensor().size() > static_cast<int64_t>(first.size()) ? ", …]" : "]");
  return text;
}

Report report(std::string_view name, const Value& v) {
  Json j{{"name", name}};
  j.update(summary(v));
  return {std::string(name), std::move(j), summary_text(v)};
}

/// Compares what has an expectation; returns whether all agree.
bool compare_outputs(const Engine& engine, const RunArguments& o, const NamedValues& outputs,
                     std::vector<Report>& reports) {
  bool agree = true, any = false;
  for (size_t i = 0; i < engine.outputs().size(); ++i) {
    const IoInfo& io = engine.outputs()[i];
    const auto file = find_value(o.expect_dir, o.input.case_name, io, "output", i);
    if (!file) continue;
    any = true;
    const Comparison c = compare(outputs.at(io.name), read_value(*file, io), o.atol, o.rtol);
    agree &= c.equal;
    for (Report& r : reports) {
      if (r.name != io.name) continue;
      r.json["expected"] = {{"file", file->string()},         {"equal", c.equal},
                            {"differing", c.differing},       {"max_absolute", c.max_absolute},
                            {"max_relative", c.max_relative}, {"reason", c.reason}};
      r.text += c.equal ? fmt::format("\n    as expected (largest difference {:.3g})", c.max_absolute)
                        : fmt::format("\n    NOT as expected: {} ({} elements differ, by up to {:.3g})",
                                      c.reason, c.differing, c.max_absolute);
    }
  }
  if (!any)
    refuse_argument("files for the outputs in " + o.expect_dir.string(), "none",
                    "they are named like the outputs: NAME.npy");
  return agree;
}

void print_reports(const char* title, const std::vector<Report>& reports) {
  if (reports.empty()) return;
  fmt::print("{}\n", title);
  for (const Report& r : reports) fmt::print("  {}: {}\n", r.name, r.text);
}

Json json_of(const std::vector<Report>& reports) {
  Json list = Json::array();
  for (const Report& r : reports) list.push_back(r.json);
  return list;
}

struct Outcome {
  std::vector<Report> inputs, outputs, taps;
  std::vector<std::string> assumed;
  double seconds = 0;
  bool agree = true;
};

Outcome execute(const RunArguments& o) {
  Outcome out;
  Progress progress("building " + o.model.model.string());
  BuildOptions build = o.engine.build_options(o.model);
  build.taps = o.taps;
  build.progress = [&](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  const Engine engine = make_engine(o.model, build);
  NamedValues inputs = o.input.values(engine, out.assumed);
  for (const auto& [name, v] : inputs) out.inputs.push_back(report(name, v));

  progress.now("running " + o.model.model.string());
  Context context = engine.create_context();
  const BoundStates states(engine, context, inputs);
  if (!o.taps.empty())
    context.on_tap([&, times = std::map<std::string, int>()](std::string_view name, const Value& v) mutable {
      Report r = report(name, v);
      // In a loop a value comes by more than once: name, name.1, name.2 …
      const int again = times[r.name]++;
      const std::string file = again ? fmt::format("{}.{}", name, again) : r.name;
      if (!o.output_dir.empty())
        r.json["file"] = write_value(o.output_dir / "taps", file_names({file})[0], v).string();
      out.taps.push_back(std::move(r));
    });
  const auto start = std::chrono::steady_clock::now();
  NamedValues outputs = InputOptions::with_sizes(out.assumed, [&] { return context.run(inputs); });
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  states.add_to(outputs);

  std::vector<std::string> names;
  for (const IoInfo& io : engine.outputs()) names.push_back(io.name);
  const std::vector<std::string> files = file_names(names);
  for (const IoInfo& io : engine.outputs()) {
    Report r = report(io.name, outputs.at(io.name));
    if (!o.output_dir.empty()) {
      const auto path = write_value(o.output_dir, files[out.outputs.size()], outputs.at(io.name));
      r.json["file"] = path.string();
      r.text += "\n    written to " + path.string();
    }
    out.outputs.push_back(std::move(r));
  }
  if (!o.expect_dir.empty()) out.agree = compare_outputs(engine, o, outputs, out.outputs);
  return out;
}

int run_run(const RunArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  if (!o.expect_dir.empty() && !std::filesystem::is_directory(o.expect_dir))
    refuse_argument("a directory", o.expect_dir.string());
  const Outcome out = execute(o);
  if (json) {
    Json j{{"model", o.model.model.string()},
           {"seconds", out.seconds},
           {"inputs", json_of(out.inputs)},
           {"outputs", json_of(out.outputs)}};
    if (!o.taps.empty()) j["taps"] = json_of(out.taps);
    if (!out.assumed.empty()) j["assumed_one"] = out.assumed;
    if (!o.expect_dir.empty()) j["as_expected"] = out.agree;
    print(j);
  } else {
    print_reports("inputs", out.inputs);
    print_reports("taps", out.taps);
    if (!o.taps.empty() && out.taps.empty())
      fmt::print("taps\n  none: no inner value fits {}\n", join(o.taps, ", "));
    print_reports("outputs", out.outputs);
    if (!out.assumed.empty())
      fmt::print("sizes taken as 1 (--shape changes them): {}\n", join(out.assumed, ", "));
    fmt::print("ran in {}\n", time_text(out.seconds));
  }
  return out.agree ? success : model_at_fault;
}

}  // namespace

void add_run(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "run", "Run a model once and show what comes out",
                          "  lathe run model.onnx\n  lathe run model.onnx --shape batch=2 --seed 7\n"
                          "  lathe run model.onnx --input x=x.npy --output-dir outputs\n"
                          "  lathe run model.onnx --inputs inputs --expect expected --atol 1e-4 --rtol 1e-3\n"
                          "  lathe run model.onnx --backend reference --tap '*' --json\n");
  auto o = std::make_shared<RunArguments>();
  o->model.add_to(sub, true);
  o->input.add_to(sub);
  sub->add_option("--expect", o->expect_dir,
                  "A directory with the outputs to compare with: NAME.npy, or output_0.pb, expected_0.npy")
      ->type_name("DIR");
  sub->add_option("--atol", o->atol, "Absolute tolerance of the comparison")->capture_default_str();
  sub->add_option("--rtol", o->rtol, "Relative tolerance of the comparison")->capture_default_str();
  sub->add_option("--output-dir", o->output_dir, "Write each output there, as NAME.npy or NAME.json")
      ->type_name("DIR");
  sub->add_option("--tap", o->taps,
                  "Show (or write, with --output-dir) inner values that fit a shell pattern, those of bodies "
                  "each time that they run")
      ->type_name("PATTERN");
  o->engine.add_to(sub);
  sub->callback([&command, o] { command.run = [&command, o] { return run_run(*o, command.json); }; });
}

}  // namespace lathe::cli
