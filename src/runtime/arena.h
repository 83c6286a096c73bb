// Places blocks that live for a span of steps into one piece of memory.
#pragma once

#include <cstddef>
#include <map>

namespace lathe {

/// Best fit, in the order of execution: take and give as the steps would; `size()` is what they need
/// together.
class ArenaPlanner {
 public:
  /// Offset of a free range of that many bytes: the smallest that fits, or the end.
  size_t take(size_t bytes);
  void give(size_t offset, size_t bytes);
  size_t size() const { return end_; }

 private:
  std::map<size_t, size_t> free_;  // offset → bytes; neighbours are joined
  size_t end_ = 0;
};

}  // namespace lathe
