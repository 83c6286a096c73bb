// Moves elements of any type fast: axes that are contiguous in both tensors are merged, and runs without gaps
// are copied whole. Slice, Concat, Split, Expand, Tile, Pad and Gather use this.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// A tensor's elements from the one at `data` on, with the stride of each axis in elements: 0 if an axis is
/// repeated, negative if it is reversed.
struct View {
  const void* data;
  Shape strides;
};

/// to[Σ index·strides] = from[Σ index·strides] for every index of `shape`. Elements have 1, 2, 4, 8 or 16
/// bytes. No two indices share an element of `to`. `e`: the epilogue, if `to` is the whole output, written in
/// this order; or null.
void move(const View& from, void* to, const Shape& to_strides, const Shape& shape, size_t element_bytes,
          KernelContext& c, Epilogue* e = nullptr);

inline size_t element_bytes(const Tensor& t) { return static_cast<size_t>(bits_of(t.type())) / 8; }
/// The address of an element.
inline const void* at(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.data()) + element * static_cast<int64_t>(element_bytes(t));
}
inline void* at(Tensor& t, int64_t element) {
  return static_cast<char*>(t.data()) + element * static_cast<int64_t>(element_bytes(t));
}

}  // namespace lathe::cpu
