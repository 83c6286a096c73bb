// `lathe verify`: compares every level of optimization with the reference, and finds the cause of a
// difference.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "command.h"
#include "input_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "output.h"
#include "progress.h"
#include "text.h"

namespace lathe::cli {
namespace {

using Fault = VerifyReport::Fault;
using Trial = VerifyReport::Trial;

struct VerifyArguments {
  ModelOptions model;
  EngineOptions engine;
  InputOptions input;
  double seconds = 60;
  bool one_level = false;
  std::filesystem::path output;
};

VerifyReport execute(const VerifyArguments& o) {
  Progress progress("verifying " + o.model.model.string());
  VerifyOptions v;
  v.build = o.engine.build_options(o.model);
  v.build.progress = [&](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  if (o.one_level) v.levels = {o.engine.level};
  v.seed = o.input.seed;
  v.seconds = o.seconds;
  const onnx::Model model = o.model.load();
  const Sizes sizes = o.input.shape.parse();
  if (o.input.names_files() || !o.input.shape.shapes.empty()) {
    BuildOptions plain = o.engine.build_options(o.model);
    plain.level = OptimizationLevel::none;
    const Engine engine = Engine::build(model, plain);
    v.sizes = known_symbols(engine.inputs(), sizes);
    v.shapes = sizes.inputs;
    if (o.input.names_files()) v.recorded = {o.input.from_files(engine)};
  }
  return verify(model, v);
}

std::string difference_text(const Trial& t) {
  return (t.amplified ? "~" : "") + (t.difference == 0 ? "0" : fmt::format("{:.0e}", t.difference));
}

/// Levels and shapes down, values across.
void print_table(const std::vector<Trial>& trials) {
  std::vector<std::string> kinds, shapes;
  const auto once = [](std::vector<std::string>& list, const std::string& word) {
    if (std::ranges::find(list, word) == list.end()) list.push_back(word);
  };
  for (const Trial& t : trials) once(kinds, t.values), once(shapes, t.shapes);
  Table table;
  std::vector<std::string> head{"level", "shapes"};
  head.insert(head.end(), kinds.begin(), kinds.end());
  table.add(head);
  for (OptimizationLevel level : optimization_levels)
    for (const std::string& shape : shapes) {
      std::vector<std::string> row{std::string(name_of(level)), shape};
      bool any = false;
      for (const std::string& kind : kinds) {
        const auto at = std::ranges::find_if(trials, [&](const Trial& t) {
          return t.level == level && t.shapes == shape && t.values == kind;
        });
        any |= at != trials.end();
        row.push_back(at == trials.end() ? "-" : difference_text(*at));
      }
      if (any) table.add(row);
    }
  table.print();
}

std::string quoted(const std::string& word) {
  return word.find_first_of(" '\"$*?()&;|<>\\") == std::string::npos ? word : "'" + word + "'";
}

/// How to see it fail again.
std::string command_for(const VerifyArguments& o, const Fault& f, const std::filesystem::path& dir) {
  std::string text = fmt::format("lathe run {} --inputs {} --expect {} --level {}",
                                 quoted((dir / "reproduce.onnx").string()), quoted(dir.string()),
                                 quoted(dir.string()), name_of(f.level));
  if (!o.engine.passes.empty()) text += " --passes=" + quoted(join(o.engine.passes, ","));
  if (!o.engine.isa.empty()) text += " --isa " + o.engine.isa;
  if (o.engine.backend != "cpu") text += " --backend " + o.engine.backend;
  for (const auto& p : o.engine.plugins) text += " --plugin " + quoted(p.string());
  // Tolerances are given if the defaults are too wide.
  if (f.atol > 0 && f.atol < 1e-5) text += fmt::format(" --atol {:g}", f.atol);
  if (f.rtol > 0 && f.rtol < 1e-3) text += fmt::format(" --rtol {:g}", f.rtol);
  return text;
}

Json to_json(const Trial& t) {
  return {{"level", name_of(t.level)},
          {"shapes", t.shapes},
          {"values", t.values},
          {"difference", std::isfinite(t.difference) ? Json(t.difference) : Json("inf")},
          {"amplified", t.amplified}};
}

Json to_json(const Fault& f, const std::filesystem::path& dir, const std::string& command) {
  Json j{{"kind", name_of(f.kind)},
         {"level", name_of(f.level)},
         {"shapes", f.shapes},
         {"values", f.values},
         {"nodes", f.nodes}};
  if (!f.pass.empty()) j["pass"] = f.pass;
  if (!f.reason.empty()) j["reason"] = f.reason;
  if (!f.kernel.empty()) j["kernel"] = f.kernel;
  j["reproduction"] = {{"directory", dir.string()}, {"confirmed", f.confirmed}, {"command", command}};
  return j;
}

int report_fault(const VerifyArguments& o, const Fault& f, bool json, Json report) {
  const std::filesystem::path dir =
      o.output.empty() ? std::filesystem::path(o.model.model.stem().string() + ".reproduce") : o.output;
  save_reproduction(f, dir);
  const std::string command = command_for(o, f, dir);
  Diagnostic d = f.diagnostic;
  d.got += fmt::format(" (level {}, {}, {} values)", name_of(f.level), f.shapes, f.values);
  if (json) {
    report["fault"] = to_json(f, dir, command);
    report["error"] = cli::to_json(d);
    print(report);
  }
  print_error(fmt::format(
      "{}\n{}: {}\n", d.message(),
      f.confirmed ? "this shows it" : "cut out or built anew it did not fail; the model is in", command));
  return model_at_fault;
}

int run_verify(const VerifyArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  const VerifyReport r = execute(o);
  Json report{{"model", o.model.model.string()}, {"equal", !r.fault}, {"trials", Json::array()}};
  for (const Trial& t : r.trials) report["trials"].push_back(to_json(t));
  report["untried"] = r.untried;
  if (!json) print_table(r.trials);
  if (!json)
    for (const std::string& u : r.untried) fmt::print("not tried: {}\n", u);
  if (r.fault) return report_fault(o, *r.fault, json, std::move(report));
  if (json) {
    print(report);
    return success;
  }
  if (std::ranges::any_of(r.trials, &Trial::amplified))
    fmt::print(
        "~: beyond the tolerance, though every step is right on its own inputs: the model amplifies "
        "rounding, "
        "or draws random numbers\n");
  fmt::print("{}: all levels agree with the reference ({} comparisons)\n", o.model.model.string(),
             r.trials.size());
  return success;
}

}  // namespace

void add_verify(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "verify",
              "Compare all levels of optimization with the reference, and find what is at fault for a "
              "difference",
              "  lathe verify model.onnx\n  lathe verify model.onnx --shape batch=5 --seed 7\n"
              "  lathe verify model.onnx --inputs inputs --level all --seconds 10\n"
              "  lathe verify model.onnx --isa generic --output wrong --json\n");
  auto o = std::make_shared<VerifyArguments>();
  o->model.add_to(sub);
  o->input.add_to(sub);
  sub->add_option("--seconds", o->seconds, "Begin no further comparison after that long")
      ->capture_default_str()
      ->check(positive);
  sub->add_option("--output", o->output,
                  "Where the model that shows a fault goes, with its inputs; else MODEL.reproduce")
      ->type_name("DIR");
  o->engine.add_to(sub);
  sub->callback([&command, o, sub] {
    o->one_level = sub->count("--level") > 0;
    command.run = [&command, o] { return run_verify(*o, command.json); };
  });
}

}  // namespace lathe::cli
