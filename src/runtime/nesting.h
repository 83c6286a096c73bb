// Values inside the memory of others: the inputs of a Concat in its output, the outputs of a Split in its
// input, and so on through several of them. Decided for the shapes of one memory plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lathe {

/// Values by number. Each is inside at most one other, at a fixed offset; a value that is inside none is a
/// block.
class Nesting {
 public:
  struct Place {
    uint32_t block = 0;
    size_t offset = 0;  // from where the block begins, in bytes
    friend bool operator==(const Place&, const Place&) = default;
  };
  explicit Nesting(size_t values) : outer_(values), offset_(values) {
    std::iota(outer_.begin(), outer_.end(), uint32_t{0});
  }

  bool is_block(uint32_t v) const { return outer_[v] == v; }
  /// Returns the block that contains a value, and shortens the path for the next call.
  Place find(uint32_t v) const {
    size_t offset = 0;
    for (; outer_[v] != v; v = outer_[v]) {
      const uint32_t next = outer_[v];
      outer_[v] = outer_[next];
      offset_[v] += offset_[next];
      offset += offset_[v];
    }
    return {v, offset};
  }
  /// Places `part` in `whole`. It must be a block, and not the one that contains `whole`.
  void put(uint32_t part, uint32_t whole, size_t offset) {
    const Place in = find(whole);
    outer_[part] = in.block;
    offset_[part] = in.offset + offset;
  }

 private:
  mutable std::vector<uint32_t> outer_;
  mutable std::vector<size_t> offset_;  // of a block: 0
};

}  // namespace lathe
