// Strides of dense tensors, and iteration over their elements.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lathe/shape.h"

namespace lathe {

/// Distances between neighbors of each axis, in elements, of a dense row-major tensor.
inline Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

/// Steps through the indices of a shape in row-major order, keeping an offset under given strides.
class Odometer {
 public:
  Odometer(Shape shape, Shape strides, int64_t offset = 0)
      : shape_(std::move(shape)), strides_(std::move(strides)), index_(shape_.size(), 0), offset_(offset) {}
  int64_t offset() const { return offset_; }
  const Shape& index() const { return index_; }
  /// Moves to the next index. Returns false after the last one, and is then at the first again.
  bool next() {
    for (size_t a = shape_.size(); a-- > 0;) {
      offset_ += strides_[a];
      if (++index_[a] < shape_[a]) return true;
      offset_ -= strides_[a] * shape_[a];
      index_[a] = 0;
    }
    return false;
  }

 private:
  Shape shape_, strides_, index_;
  int64_t offset_;
};

/// The elements at `all[offset + Σ index·stride]`, for every index of `shape` in row-major order.
template <class T>
std::vector<T> strided_elements(const std::vector<T>& all, const Shape& shape, const Shape& strides,
                                int64_t offset = 0) {
  std::vector<T> some;
  if (count_of(shape) == 0) return some;
  Odometer at(shape, strides, offset);
  do some.push_back(all[static_cast<size_t>(at.offset())]);
  while (at.next());
  return some;
}

}  // namespace lathe
