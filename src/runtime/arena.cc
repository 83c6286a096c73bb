#include "runtime/arena.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>

namespace lathe {

ArenaPlanner::Id ArenaPlanner::take(size_t bytes) {
  live_ += bytes;
  peak_live_ = std::max(peak_live_, live_);
  spans_.push_back({bytes, best_fit(bytes), clock_++, SIZE_MAX});
  return spans_.size() - 1;
}

void ArenaPlanner::give(Id id) {
  Span& s = spans_[id];
  s.end = clock_++;
  live_ -= s.bytes;
  free(s.offset, s.bytes);
}

void ArenaPlanner::pack() {
  constexpr size_t worth_it =
      64;  // a hole of such a part: most memory plans have none, and are made at every shape
  if (end_ - peak_live_ <= peak_live_ / worth_it) return;
  size_t end = 0;
  const std::vector<size_t> offsets = by_size(end);
  if (end >= end_) return;
  for (Id id = 0; id < spans_.size(); ++id) spans_[id].offset = offsets[id];
  end_ = end;
}

/// Each in the lowest gap between those that are placed and live at a time with it.
std::vector<size_t> ArenaPlanner::by_size(size_t& end) const {
  std::vector<Id> order(spans_.size());
  std::iota(order.begin(), order.end(), Id{0});
  std::ranges::stable_sort(order, std::greater{}, [&](Id id) { return spans_[id].bytes; });
  std::vector<size_t> offsets(spans_.size());
  std::vector<Id> placed;  // by offset
  for (const Id id : order) {
    const Span& s = spans_[id];
    if (s.bytes == 0) break;
    size_t at = 0;
    for (const Id other : placed) {
      const Span& o = spans_[other];
      if (o.end <= s.begin || s.end <= o.begin) continue;
      if (offsets[other] >= at + s.bytes) break;
      at = std::max(at, offsets[other] + o.bytes);
    }
    offsets[id] = at;
    placed.insert(std::ranges::upper_bound(placed, at, {}, [&](Id other) { return offsets[other]; }), id);
    end = std::max(end, at + s.bytes);
  }
  return offsets;
}

size_t ArenaPlanner::best_fit(size_t bytes) {
  if (bytes == 0) return 0;
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
  if (best == free_.end() && !free_.empty()) {  // none fits: let the last one grow if it touches the end
    auto last = std::prev(free_.end());
    if (last->first + last->second == end_) {
      const size_t at = last->first;
      end_ = at + bytes;
      free_.erase(last);
      return at;
    }
  }
  if (best == free_.end()) {
    const size_t at = end_;
    end_ += bytes;
    return at;
  }
  const auto [at, hole] = *best;
  free_.erase(best);
  if (hole > bytes) free_.emplace(at + bytes, hole - bytes);
  return at;
}

void ArenaPlanner::free(size_t offset, size_t bytes) {
  if (bytes == 0) return;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace lathe
