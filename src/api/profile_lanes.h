// Finds the events of a profile that ran side by side.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "lathe/profile.h"

namespace lathe {

inline int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// Returns by event the number of its lane: 0, or different numbers for events that ran at the same time.
/// `order`: the events in the order in which they began. There are at most eight lanes.
inline std::vector<uint32_t> lanes_of(const Profile& p, const std::vector<size_t>& order) {
  constexpr uint32_t most = 8;
  std::map<uint32_t, std::vector<int64_t>> ends;  // by depth and lane: where its last event ended
  std::vector<uint32_t> lanes(p.events.size());
  for (size_t i : order) {
    const StepEvent& e = p.events[i];
    std::vector<int64_t>& taken = ends[e.depth];
    uint32_t lane = 0;
    while (lane < taken.size() && lane + 1 < most && taken[lane] > nanoseconds(e.start)) ++lane;
    if (lane == taken.size()) taken.emplace_back();
    taken[lane] = nanoseconds(e.start + e.seconds);
    lanes[i] = lane;
  }
  return lanes;
}

/// The events as they began, outer ones before those in them, as some readers want them.
std::vector<size_t> events_in_order(const Profile& p);

}  // namespace lathe
