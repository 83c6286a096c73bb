// The public interface of timing caches: their contents, and merging several of them.
#include "lathe/timing_cache.h"

#include <utility>

#include "lathe/merge_timing_caches.h"

namespace lathe {

TimingCacheInfo merge_timing_caches(const std::vector<std::filesystem::path>& caches,
                                    const std::filesystem::path& output) {
  TimingCache all;
  for (const std::filesystem::path& path : caches) all.combine(TimingCache::load(path));
  if (!output.empty()) all.save(output);
  TimingCacheInfo info;
  for (const auto& [machine, problems] : all.machines()) {
    TimingCacheInfo::Machine m{.cpu = machine.cpu, .features = machine.features, .version = machine.version};
    m.problems = static_cast<int64_t>(problems.size());
    for (const auto& [text, timings] : problems) m.untimed += timings.microseconds.empty();
    m.here = machine == TimingCache::Machine::here();
    info.machines.push_back(std::move(m));
  }
  return info;
}

}  // namespace lathe
