// Elements that indices pick along one axis: what GatherElements and ScatterElements walk over.
#pragma once

#include <algorithm>

#include "ops/movement.h"

namespace lathe {

/// Indices in row-major order and their elements: an index selects the element at its own position, but along
/// the axis at the index. Axes that are contiguous in both tensors are joined.
class PickedAxis {
 public:
  /// Refuses indices that are larger than the data, but for the axis.
  PickedAxis(const KernelContext& c, const Shape& data, const Shape& indices, size_t axis)
      : extent(data[axis]) {
    for (size_t a = 0; a < data.size(); ++a)
      if (a != axis && indices[a] > data[a])
        c.fail(Code::run_bad_shape, "indices within " + describe(data) + " but along the axis",
               describe(indices));
    Shape strides = row_major(data);
    pick = std::exchange(strides[axis], 0);
    for (size_t a = data.size(); a-- > 0;) {
      if (indices[a] == 1) continue;
      if (!sizes_.empty() && strides[a] == strides_.back() * sizes_.back()) {
        sizes_.back() *= indices[a];
        continue;
      }
      sizes_.push_back(indices[a]);
      strides_.push_back(strides[a]);
    }
    if (sizes_.empty()) {
      sizes_.push_back(1);
      strides_.push_back(0);
    }
  }

  /// Calls f(first, offset, n) for runs of the indices [begin, end): the positions of `n` of them, from
  /// `first` on, begin at `offset` and are `step()` apart.
  template <class F>
  void each_run(int64_t begin, int64_t end, F&& f) const {
    const size_t rank = sizes_.size();
    Shape at(rank, 0);
    int64_t offset = 0, rest = begin;
    for (size_t a = 0; a < rank; ++a) {
      at[a] = rest % sizes_[a];
      rest /= sizes_[a];
      offset += at[a] * strides_[a];
    }
    while (begin < end) {
      const int64_t n = std::min(sizes_[0] - at[0], end - begin);
      f(begin, offset, n);
      begin += n;
      at[0] += n;
      offset += n * strides_[0];
      for (size_t a = 0; a + 1 < rank && at[a] == sizes_[a]; ++a) {
        offset += strides_[a + 1] - sizes_[a] * strides_[a];
        at[a] = 0;
        ++at[a + 1];
      }
    }
  }
  int64_t step() const { return strides_[0]; }

  int64_t extent;  // elements along the axis
  int64_t pick;    // the distance of neighbors along it

 private:
  Shape sizes_, strides_;  // innermost first
};

/// Calls f<T, I>(): elements of T, by size, and indices of I.
template <class F>
void for_picked(DataType elements, DataType indices, F&& f) {
  for_size(elements, [&]<class T> {
    if (indices == DataType::int32)
      f.template operator()<T, int32_t>();
    else
      f.template operator()<T, int64_t>();
  });
}

}  // namespace lathe
