// Places blocks that live for a span of steps into one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace lathe {

/// Take and give as the steps would, then pack(). Offsets are best fit in the order of execution; where that
/// leaves holes, those of a second packing, the largest first, if it takes less.
class ArenaPlanner {
 public:
  using Id = size_t;
  /// A range of that many bytes, until it is given back.
  Id take(size_t bytes);
  void give(Id id);
  /// When all has been taken and given: settles offsets and size.
  void pack();
  size_t offset(Id id) const { return spans_[id].offset; }
  size_t size() const { return end_; }

 private:
  /// Memory that is used from `begin` until before `end`, counted in takes and gives.
  struct Span {
    size_t bytes, offset, begin, end;
  };
  size_t best_fit(size_t bytes);
  void free(size_t offset, size_t bytes);
  std::vector<size_t> by_size(size_t& end) const;

  std::vector<Span> spans_;
  std::map<size_t, size_t> free_;  // offset → bytes; neighbors are joined
  size_t end_ = 0, clock_ = 0;
  size_t live_ = 0, peak_live_ = 0;  // bytes: no packing takes less
};

}  // namespace lathe
