// Weights in a file lie where its writer put them: often at addresses that elements of their type may not
// have. What reads whole vectors or bytes takes them as they are; all others get a copy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lathe/tensor.h"

namespace lathe {

/// Whether elements of this type may lie at `p`.
inline bool is_aligned(DataType type, const void* p) {
  if (type == DataType::string) return true;
  const auto align = static_cast<uintptr_t>(std::clamp(bits_of(type) / 8, 1, 8));
  return reinterpret_cast<uintptr_t>(p) % align == 0;
}
inline bool is_aligned(const Tensor& t) { return is_aligned(t.type(), t.data()); }
/// Itself, or a copy where it lies at an odd address.
inline Tensor aligned(const Tensor& t) { return is_aligned(t) ? t : t.clone(); }

}  // namespace lathe
