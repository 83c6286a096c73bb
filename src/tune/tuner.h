// Chooses among tactics by their time, as measured now or before.
//
// All problems of a stage are known before the first is timed, so that progress can say how many are left.
// Every decision is recorded, those that rules of thumb made for lack of time too, and a build that is pinned
// to the record decides the same.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel/select.h"
#include "lathe/engine.h"
#include "lathe/timing_cache.h"
#include "runtime/extensions.h"
#include "tune/problem.h"

namespace lathe {

/// A node that several tactics can run.
struct TuningTask {
  Problem problem;
  std::vector<Tactic> tactics;  // first the one that rules of thumb choose, last those that need high effort
  size_t wanted = 0;            // so many of them are timed, with the effort of this build
  std::string node;             // for people: where it is asked
};

/// Used by one thread, for one build.
class Tuner {
 public:
  /// Reads the timing cache. `streamed`: as of Problem. Throws build_bad_option, file_not_found where a
  /// pinned one is not there, json_malformed, file_write_failed.
  Tuner(const BuildOptions& options, const Extensions& extensions, TuneSizes sizes, bool streamed);

  /// Returns whether the options ask for any tuning.
  static bool wanted(const BuildOptions& options);

  /// Returns the task for a node for which rules of thumb choose `usual`; nothing if it cannot be timed.
  std::optional<TuningTask> task(Tactic usual, std::string_view domain, std::string_view op,
                                 const Attributes& attributes, const KernelQuery& query,
                                 std::string node) const;
  /// Returns whether there is a choice: more than one tactic, now or when the cache was made.
  bool is_open(const TuningTask& q) const;
  /// Decides all tasks, by the cache or by timing. Throws cancelled, deadline, and build_untimed naming the
  /// node if the cache is pinned and lacks one; times that were measured until then are kept.
  void measure_all(const std::vector<TuningTask>& tasks);
  /// Returns the tactic that was chosen for a measured task.
  const Tactic& choice(const TuningTask& q) const;
  /// Microseconds of that tactic; nothing if it was not measured.
  std::optional<double> time(const TuningTask& q) const;
  /// All times that are known for the task; null: none.
  const TimingCache::Timings* timings(const TuningTask& q) const;

  /// Adds the decisions to the timing cache. Throws file_write_failed.
  void save();
  const TuningReport& report() const { return report_; }

 private:
  void add_to(TimingCache& known) const;
  bool can_time() const;
  bool time_left() const;
  bool is_known(const TuningTask& q, const std::string& text) const;
  void require_pinned(const TuningTask& q, const std::string& text) const;
  bool measure(const TuningTask& q, const std::string& text, size_t index, size_t count);
  void report_progress(const TuningTask& q, size_t index, size_t count) const;
  static std::span<const Tactic> wanted(const TuningTask& q);
  static const Tactic* find(const TuningTask& q, const std::string& tactic);

  const BuildOptions& options_;
  const Extensions& extensions_;
  TuneSizes sizes_;
  bool streamed_;
  TimingCache cache_;
  std::set<std::string> counted_;                    // problems that are in the report
  std::set<std::string> decided_;                    // … and those that are to be written
  std::chrono::steady_clock::time_point started_{};  // to measure
  TuningReport report_;
};

}  // namespace lathe
