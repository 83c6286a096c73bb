// Options about what a build measures: shared by the subcommands that build.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "json.h"
#include "lathe/lathe.h"
#include "model_options.h"
#include "progress.h"

namespace lathe::cli {

struct TuneOptions {
  TuningEffort effort = TuningEffort::none;
  double seconds = BuildOptions().tune_seconds;
  std::filesystem::path cache;
  bool pin = false;
  std::vector<std::string> sizes;

  void add_to(CLI::App* sub);
  /// Tells the build what to measure, and `progress` how far it is. A signal to stop ends it in order: what
  /// has been measured is kept.
  void apply(BuildOptions& options, Progress& progress) const;
  /// Of a plan, refuses them all.
  void refuse_for_plan(const std::filesystem::path& plan) const { cli::refuse_for_plan(all_, plan); }
  bool any() const { return effort != TuningEffort::none || !cache.empty(); }

 private:
  std::vector<const CLI::Option*> all_;
};

Json to_json(const TuningReport& r);
/// "tuned 12 problems (10 timed, 2 known) in 3.1 s".
std::string text_of(const TuningReport& r);

/// [{"tactic": …, "microseconds": …}].
Json to_json(const std::vector<StepInfo::Timing>& timings);
/// "812 µs, then conv.avx2 with 930 µs": what was taken and the runner-up; empty where nothing was measured.
std::string text_of(const std::vector<StepInfo::Timing>& timings);

}  // namespace lathe::cli
