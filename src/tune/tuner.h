// Chooses among tactics by what they take, as measured now or before.
//
// All problems of a stage are known before the first is timed: so progress can say how many are left.
// Whatever is decided is recorded, what rules of thumb chose for want of time too, and a build that is pinned
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
struct Question {
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

  /// Do the options ask for any tuning?
  static bool wanted(const BuildOptions& options);

  /// What is to be asked about a node for which rules of thumb choose `usual`; nothing where no time can be
  /// had.
  std::optional<Question> question(Tactic usual, std::string_view domain, std::string_view op,
                                   const Attributes& attributes, const KernelRequest& request,
                                   std::string node) const;
  /// Is there anything to choose: more than one tactic, now or when the cache was made?
  bool is_open(const Question& q) const;
  /// Sees to it that all have answers. Throws cancelled, deadline, and build_untimed naming the node where
  /// the cache is pinned and lacks one; what was measured until then is kept all the same.
  void answer(const std::vector<Question>& questions);
  /// Of an answered question. One of its tactics.
  const Tactic& choice(const Question& q) const;
  /// Microseconds that it takes; nothing where it was not measured.
  std::optional<double> time(const Question& q) const;
  /// Everything that is known of it; null: nothing.
  const TimingCache::Timings* timings(const Question& q) const;

  /// Adds to the timing cache what was decided. Throws file_write_failed.
  void save();
  const TuningReport& report() const { return report_; }

 private:
  void add_to(TimingCache& known) const;
  bool can_time() const;
  bool time_left() const;
  bool is_known(const Question& q, const std::string& text) const;
  void require_pinned(const Question& q, const std::string& text) const;
  bool measure(const Question& q, const std::string& text, size_t index, size_t count);
  void tell(const Question& q, size_t index, size_t count) const;
  static std::span<const Tactic> wanted(const Question& q);
  static const Tactic* find(const Question& q, const std::string& tactic);

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
