#include "runtime/arena.h"

#include <iterator>

namespace lathe {

size_t ArenaPlanner::take(size_t bytes) {
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
  const auto [at, room] = *best;
  free_.erase(best);
  if (room > bytes) free_.emplace(at + bytes, room - bytes);
  return at;
}

void ArenaPlanner::give(size_t offset, size_t bytes) {
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
