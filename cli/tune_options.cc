#include "tune_options.h"

#include <fmt/core.h>

#include "command.h"
#include "stop_signals.h"
#include "text.h"

namespace lathe::cli {

void TuneOptions::add_to(CLI::App* sub) {
  all_ = {add_choice(sub, "--effort", effort, tuning_efforts,
                     "How much to measure on this machine: none, normal, high"),
          sub->add_option("--tune-seconds", seconds, "After which nothing more is measured")
              ->capture_default_str(),
          sub->add_option("--timing-cache", cache, "Measured times to begin with; new ones are added")
              ->type_name("FILE"),
          sub->add_flag("--pin", pin, "Decide by the timing cache alone: the same plan every time")
              ->needs("--timing-cache"),
          sub->add_option("--tune-size", sizes,
                          "A size to measure with, of a symbol that stays free: batch=8 (may be repeated)")
              ->type_name("NAME=SIZE")};
}

void TuneOptions::apply(BuildOptions& o, Progress& progress) const {
  o.effort = effort;
  o.tune_seconds = seconds;
  o.timing_cache = cache;
  o.timing_cache_pinned = pin;
  o.tune_sizes = ShapeOptions{sizes}.parse().symbols;
  o.progress = [&progress](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  o.control = &stop_on_signals();
}

Json to_json(const TuningReport& r) {
  return {{"problems", r.problems},
          {"timed", r.timed},
          {"cached", r.cached},
          {"untimed", r.untimed},
          {"seconds", r.seconds}};
}

std::string text_of(const TuningReport& r) {
  return fmt::format("tuned {} problems ({} timed, {} known{}) in {}", r.problems, r.timed, r.cached,
                     r.untimed ? fmt::format(", {} left to rules of thumb", r.untimed) : "",
                     time_text(r.seconds));
}

Json to_json(const std::vector<StepInfo::Timing>& timings) {
  Json list = Json::array();
  for (const StepInfo::Timing& t : timings)
    list.push_back({{"tactic", t.tactic}, {"microseconds", t.microseconds}});
  return list;
}

std::string text_of(const std::vector<StepInfo::Timing>& timings) {
  if (timings.empty()) return {};
  const auto time = [](const StepInfo::Timing& t) { return time_text(t.microseconds * 1e-6); };
  return timings.size() == 1
             ? time(timings[0])
             : fmt::format("{}, then {} with {}", time(timings[0]), timings[1].tactic, time(timings[1]));
}

}  // namespace lathe::cli
