// `lathe check`: everything that is wrong with a model, or damaged in a plan, at once.
#include <fmt/core.h>

#include <memory>

#include "command.h"
#include "json.h"
#include "mapped_fault.h"
#include "model_options.h"
#include "progress.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct CheckArguments : ModelOptions {
  std::vector<std::filesystem::path> plugins;
};

std::vector<Diagnostic> findings(const CheckArguments& options) {
  Progress progress("checking " + options.model.string());
  if (!options.is_plan()) return check(options.load(), options.plugins);
  if (!options.plugins.empty())
    refuse_argument("--plugin with a model", "with a plan, whose bytes are checked", "leave --plugin out");
  return check_plan(options.model);
}

int run(const CheckArguments& options, bool json) {
  report_mapped_faults(options.model, json);
  const std::vector<Diagnostic> found = findings(options);
  size_t errors = 0;
  for (const Diagnostic& d : found) errors += d.severity == Diagnostic::Severity::error;
  if (json) {
    Json list = Json::array();
    for (const Diagnostic& d : found) list.push_back(to_json(d));
    print({{"model", options.model.string()},
           {"valid", errors == 0},
           {"errors", errors},
           {"warnings", found.size() - errors},
           {"findings", list}});
  } else {
    for (const Diagnostic& d : found) {
      fmt::print("{}\n", d.message());
      if (!d.inputs.empty()) fmt::print("  inputs: {}\n", join(d.inputs, ", "));
    }
    fmt::print("{}: {} ({} errors, {} warnings)\n", options.model.string(), errors ? "not valid" : "valid",
               errors, found.size() - errors);
  }
  return errors ? model_at_fault : success;
}

}  // namespace

void add_check(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "check", "Report everything that is wrong with a model, or damaged in a plan",
              "  lathe check model.onnx\n  lathe check model.onnx --json\n"
              "  lathe build model.onnx\n  lathe check model.lathe\n");
  auto options = std::make_shared<CheckArguments>();
  options->add_to(sub, true);
  sub->add_option("--plugin", options->plugins,
                  "A shared library whose operators are known, too; may be repeated");
  sub->callback(
      [&command, options] { command.run = [&command, options] { return run(*options, command.json); }; });
}

}  // namespace lathe::cli
