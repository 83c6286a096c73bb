// Merging of timing caches that several builds or machines wrote (docs/internals/tuning.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Describes the contents of timing caches, machine by machine.
struct TimingCacheInfo {
  /// Describes the measurements of one machine.
  struct Machine {
    std::string cpu;                    // name that the processor gives itself
    std::vector<std::string> features;  // as in SystemInfo
    std::string version;                // version of the library that measured
    int64_t problems = 0;               // number of known problems
    /// How many of them were chosen without measurements, recorded so that a rebuild can be pinned.
    int64_t untimed = 0;
    bool here = false;  // true for this machine and this library, whose problems a build here would use
  };
  std::vector<Machine> machines;  // in the order of the file
};
/// Merges the timing caches of several builds or machines, and writes the result to `output` unless that is
/// empty. Measurements of different machines stay separate; of two times for the same tactic the smaller one
/// is kept, and where the files chose differently the tactic with the smallest time is chosen. Throws
/// file_not_found, json_malformed, file_write_failed. TensorRT: ITimingCache::combine.
LATHE_API TimingCacheInfo merge_timing_caches(const std::vector<std::filesystem::path>& caches,
                                              const std::filesystem::path& output = {});

}  // namespace lathe
