// Weights in a file may be unaligned for their element types. Code that reads vectors or bytes uses them as
// they are; all other code gets an aligned copy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lathe/tensor.h"

namespace lathe {

/// Returns whether `p` is aligned for elements of this type.
inline bool is_aligned(DataType type, const void* p) {
  if (type == DataType::string) return true;
  const auto align = static_cast<uintptr_t>(std::clamp(bits_of(type) / 8, 1, 8));
  return reinterpret_cast<uintptr_t>(p) % align == 0;
}
inline bool is_aligned(const Tensor& t) { return is_aligned(t.type(), t.data()); }
/// Returns the tensor itself, or a copy if it is not aligned.
inline Tensor aligned(const Tensor& t) { return is_aligned(t) ? t : t.clone(); }

}  // namespace lathe
