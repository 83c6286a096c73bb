// Times that builds have measured, by machine and problem (docs/internals/tuning.md), as JSON that people can
// read, edit, combine and share.
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

/// Times of tactics, by machine and problem. Plain data: copies are independent. Not to be changed by one
/// thread while others use it. TensorRT: ITimingCache.
class LATHE_API TimingCache {
 public:
  /// Identifies whose times they are: they mean nothing to another processor or another version of the
  /// library.
  struct Machine {
    std::string cpu;                    // "AMD EPYC …, family 25, model 17"
    std::vector<std::string> features;  // as in SystemInfo
    /// Version of the library.
    std::string version;  // version of the library
    friend auto operator<=>(const Machine&, const Machine&) = default;
    /// Returns this machine and this library.
    LATHE_API static const Machine& here();
  };
  /// Times of one problem by tactic: a kernel, with its tunables in brackets: "blocked_conv.winograd4.avx2
  /// [65536]".
  struct Timings {
    std::string chosen;                          // tactic that builds take
    std::map<std::string, double> microseconds;  // times by tactic; empty: a heuristic chose
    friend bool operator==(const Timings&, const Timings&) = default;
  };
  /// Times by the text of a problem: operator, attributes, types, shapes.
  using Problems = std::map<std::string, Timings>;

  /// Makes an empty cache.
  TimingCache() = default;
  /// Reads the text of a file. Throws json_malformed.
  static TimingCache deserialize(std::string_view json);
  /// Returns the text of a file.
  std::string serialize() const;
  /// Reads a file. Throws json_malformed, which names the file; file_not_found and file_unreadable.
  static TimingCache load(const std::filesystem::path& path);
  /// Writes a file beside the target and renames it. Throws file_write_failed.
  void save(const std::filesystem::path& path) const;

  /// Adds another cache. Measurements of different machines stay separate; of two times for the same tactic
  /// the smaller one is kept, and of two choices the tactic that is then fastest. TensorRT:
  /// ITimingCache::combine.
  void combine(const TimingCache& other);
  /// Returns all times by machine.
  const std::map<Machine, Problems>& machines() const { return machines_; }
  /// Returns the problems of a machine. TensorRT: ITimingCache::queryKeys.
  std::vector<std::string> query_keys(const Machine& machine = Machine::here()) const;
  /// Returns the times of a problem, or null where nothing is known. TensorRT: ITimingCache::query.
  const Timings* query(const std::string& problem, const Machine& machine = Machine::here()) const;
  /// Sets the times of a problem. Throws Code::bad_argument where times are not positive, or where there are
  /// some and none is of the chosen tactic. TensorRT: ITimingCache::update.
  void update(const std::string& problem, Timings timings, const Machine& machine = Machine::here());
  /// Makes builds that use this cache take `tactic` for the problem from now on. Throws Code::bad_argument
  /// where the problem is not known, or has times and none of that tactic.
  void pin(const std::string& problem, const std::string& tactic, const Machine& machine = Machine::here());

 private:
  std::map<Machine, Problems> machines_;
};

}  // namespace lathe
