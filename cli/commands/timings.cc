// `lathe timings`: what timing caches hold; merges several into one.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "json.h"
#include "output.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct TimingsArguments {
  std::vector<std::filesystem::path> caches;
  std::filesystem::path output;
};

int run_timings(const TimingsArguments& o, bool json) {
  std::optional<OutputFile> output;
  if (!o.output.empty()) output.emplace(o.output);
  const TimingCacheInfo info = merge_timing_caches(o.caches, output ? output->path() : o.output);
  if (json) {
    Json machines = Json::array();
    for (const auto& m : info.machines)
      machines.push_back({{"cpu", m.cpu},
                          {"features", m.features},
                          {"lathe", m.version},
                          {"problems", m.problems},
                          {"untimed", m.untimed},
                          {"here", m.here}});
    Json all{{"machines", std::move(machines)}};
    if (output) all["output"] = output->name();
    print(all);
    return success;
  }
  for (const auto& m : info.machines)
    fmt::print("{} ({}), version {}: {} problems{}{}\n", m.cpu, join(m.features, " "), m.version, m.problems,
               m.untimed ? fmt::format(", {} of them not measured", m.untimed) : "",
               m.here ? "; this machine" : "");
  if (info.machines.empty()) fmt::print("no problems\n");
  if (output) fmt::print("{}\n", output->name());
  return success;
}

}  // namespace

void add_timings(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "timings", "Tell what timing caches hold, and merge them",
                          "  lathe timings timings.json\n"
                          "  lathe timings timings.json others.json -o all.json\n");
  auto options = std::make_shared<TimingsArguments>();
  sub->add_option("CACHE", options->caches, "Timing caches, as `lathe build --timing-cache` writes them")
      ->required()
      ->type_name("FILE");
  sub->add_option("-o,--output", options->output, "Where to write all of them as one; - is standard output")
      ->type_name("FILE");
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_timings(*options, command.json); };
  });
}

}  // namespace lathe::cli
