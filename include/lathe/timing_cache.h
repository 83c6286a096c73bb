// What builds have measured, by machine and problem (docs/internals/tuning.md): JSON that people can read,
// edit, combine and share.
//
//   auto cache = std::make_shared<lathe::TimingCache>();
//   config.effort = lathe::TuningEffort::normal;
//   config.timings = cache;                                  // or a file: config.timing_cache
//   lathe::Builder().build_engine(network, config);
//   for (const std::string& problem : cache->query_keys()) …
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Plain data: copies are apart; not to be changed by one thread while others use it.
class LATHE_API TimingCache {
 public:
  /// Whose times: they mean nothing to another processor or another version of the library.
  struct Machine {
    std::string cpu;  // "AMD EPYC …, family 25, model 17"
    std::vector<std::string> features;
    std::string version;  // of the library
    friend auto operator<=>(const Machine&, const Machine&) = default;
    LATHE_API static const Machine& here();
  };
  /// Of one problem, by the text of a tactic: "winograd.avx2 [65536]".
  struct Timings {
    std::string chosen;                          // what builds take
    std::map<std::string, double> microseconds;  // empty: a rule of thumb chose
    friend bool operator==(const Timings&, const Timings&) = default;
  };
  /// By the text of a problem: operator, attributes, types, shapes.
  using Problems = std::map<std::string, Timings>;

  /// An empty one.
  TimingCache() = default;
  /// From the text of a file. Throws json_malformed.
  static TimingCache deserialize(std::string_view json);
  std::string serialize() const;
  /// Throws json_malformed, told the file; file_not_found and file_unreadable where there is none.
  static TimingCache load(const std::filesystem::path& path);
  /// Beside the file, then renamed. Throws file_write_failed.
  void save(const std::filesystem::path& path) const;

  /// Takes in another cache. What one machine measured stays apart from what others did; of two times for the
  /// same tactic the lesser is kept, and of two choices the tactic that is then fastest.
  void combine(const TimingCache& other);
  const std::map<Machine, Problems>& machines() const { return machines_; }
  /// The problems of a machine.
  std::vector<std::string> query_keys(const Machine& machine = Machine::here()) const;
  /// Null: nothing known.
  const Timings* query(const std::string& problem, const Machine& machine = Machine::here()) const;
  /// Sets what is known of a problem. Throws Code::bad_argument where times are not positive, or where there
  /// are some and none is of the tactic that is chosen.
  void update(const std::string& problem, Timings timings, const Machine& machine = Machine::here());
  /// Builds that use this cache take `tactic` for the problem from now on. Throws Code::bad_argument where
  /// the problem is not known, or has times and none of that tactic.
  void pin(const std::string& problem, const std::string& tactic, const Machine& machine = Machine::here());

 private:
  std::map<Machine, Problems> machines_;
};

}  // namespace lathe
