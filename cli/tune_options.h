// Options for timing in a build, for the subcommands that build.
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
  /// Sets what the build measures, and reports to `progress`. A signal to stop ends the build in order: times
  /// that have been measured are kept.
  void apply(BuildOptions& options, Progress& progress) const;
  /// Refuses all these options for a plan.
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
/// "812 µs, then conv.avx2 with 930 µs": the chosen tactic and the next; empty if nothing was measured.
std::string text_of(const std::vector<StepInfo::Timing>& timings);

}  // namespace lathe::cli
