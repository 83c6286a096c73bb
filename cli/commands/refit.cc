// `lathe refit`: a plan with other weights, without building it again.
#include <fmt/core.h>

#include <memory>

#include "checkpoint.h"
#include "command.h"
#include "json.h"
#include "lathe/checkpoint.h"
#include "mapped_fault.h"
#include "output.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct RefitArguments {
  std::filesystem::path plan, output;
  std::vector<std::filesystem::path> weights, plugins;
  std::string prefix, isa;
  int threads = 0;
  bool untrusted = false, all = false;
};

/// Sets the weights of a file that the engine has; returns the names of the others.
std::vector<std::string> take(Refitter& r, const std::filesystem::path& file, const RefitArguments& o) {
  onnx::LoadOptions load;
  load.untrusted = o.untrusted;
  if (!is_checkpoint(file)) return r.set_named_weights(onnx::Model::load(file, load));
  return r.set_named_weights(Checkpoint::open(file, {.untrusted = o.untrusted}),
                             [&](const std::string& name) {
                               return name.starts_with(o.prefix) ? name.substr(o.prefix.size()) : name;
                             });
}

int run_refit(const RefitArguments& o, bool json) {
  report_mapped_faults(o.plan, json);
  BuildOptions options;
  options.isa = o.isa;
  options.threads = o.threads;
  options.plugins = o.plugins;
  options.load.untrusted = o.untrusted;
  const Engine engine = Engine::load(o.plan, options);
  Refitter r(engine);
  std::vector<std::string> ignored;
  for (const auto& file : o.weights)
    for (std::string& name : take(r, file, o)) ignored.push_back(std::move(name));
  const std::vector<std::string> missing = r.missing();
  if (o.all && !missing.empty())
    throw Error(
        Code::bad_argument, "refit", "tensors for all weights", "none for '" + missing[0] + "'",
        "leave --all out to keep what the plan has of the " + std::to_string(missing.size()) + " missing");
  const RefitReport report = r.refit();
  const OutputFile output(o.output);
  engine.save(output.path());
  if (json) {
    print({{"output", output.name()},
           {"weights", report.weights},
           {"folded", report.folded},
           {"packed", report.packed},
           {"bytes", report.bytes},
           {"missing", missing},
           {"ignored", ignored},
           {"seconds", report.seconds}});
    return success;
  }
  fmt::print("{}: {} exchanged, {} folded and {} packed anew, {}\n", output.name(),
             counted(report.weights, "weight"), counted(report.folded, "array"), report.packed,
             time_text(report.seconds));
  if (!missing.empty()) fmt::print("kept as they were: {}\n", join(missing, ", "));
  if (!ignored.empty()) fmt::print("not in the plan: {}\n", join(ignored, ", "));
  return success;
}

}  // namespace

void add_refit(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "refit", "Give a plan other weights, without building it again",
                          "  lathe build model.onnx --refit\n"
                          "  lathe refit model.lathe --weights weights.npz -o tuned.lathe\n"
                          "  lathe refit model.lathe --weights model.onnx --all -o again.lathe\n");
  auto options = std::make_shared<RefitArguments>();
  sub->add_option("PLAN", options->plan, "A plan that was built with --refit")->required()->type_name("PLAN");
  sub->add_option("--weights", options->weights,
                  "Where they are: an .onnx file, or a checkpoint as `lathe inspect` takes them; by name. "
                  "May be given "
                  "several times, the last counts")
      ->required()
      ->type_name("FILE");
  sub->add_option("-o,--output", options->output, "Where to; - is standard output")
      ->required()
      ->type_name("PLAN");
  sub->add_option("--prefix", options->prefix,
                  "What the names in a checkpoint begin with, and the plan's do not");
  sub->add_flag("--all", options->all, "Refuse to keep any weight of the plan");
  sub->add_option("--isa", options->isa, "The best instructions to use: generic, avx2, avx512");
  sub->add_option("--threads", options->threads, "0 takes as many as this process may use");
  sub->add_option("--plugin", options->plugins,
                  "A shared library that the plan was built with (may be repeated)")
      ->type_name("FILE");
  sub->add_flag("--untrusted", options->untrusted, "Read files into private memory instead of mapping them");
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_refit(*options, command.json); };
  });
}

}  // namespace lathe::cli
