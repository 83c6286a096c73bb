// Whole numbers of a few bits, of which blocks of neighbors share a scale.
#pragma once

#include "lathe/tensor.h"

namespace lathe {

/// Returns whether kernels read such numbers as they are: integers of 2, 4 or 8 bits.
inline bool is_low_bit(DataType t) {
  const int bits = bits_of(t);
  return is_integer(t) && (bits == 2 || bits == 4 || bits == 8);
}

/// Returns a shape whose blocks are an axis of their own, [n, blocks, block], as that of a matrix [n, k];
/// other shapes stay.
template <class S>
S blocks_as_matrix(const S& s) {
  return s.size() == 3 ? S{s[0], s[1] * s[2]} : s;
}

}  // namespace lathe
