// How operands of products are packed a piece at a time.
#pragma once

#include <algorithm>

#include "cpu/ceil_of.h"
#include "cpu/gemm.h"

namespace lathe::cpu {

/// Blocks of k begin at multiples of this: of blocks of A, and of steps of parts.
inline constexpr int64_t k_grain = part_depth;
static_assert(k_grain % a_block == 0 && k_block % k_grain == 0);
/// k in blocks of equal length, after each of which C is updated.
inline int64_t k_step(int64_t k) {
  const int64_t blocks = std::max<int64_t>(1, ceil_of(k, k_block));
  return std::max(k_grain, ceil_of(k, blocks * k_grain) * k_grain);
}
/// Floats that are packed between two questions whether to stop.
inline constexpr int64_t packed_in_one_go = int64_t{1} << 18;

/// Packs k in pieces, asking in between: rows or columns may be very long. f(k0, length).
template <class F>
void pack_pieces(int64_t k, int64_t width, Workers& workers, F&& f) {
  const int64_t step = std::max(k_grain, packed_in_one_go / std::max<int64_t>(1, width) / k_grain * k_grain);
  for (int64_t k0 = 0; k0 < k; k0 += step) {
    workers.poll();
    f(k0, std::min(step, k - k0));
  }
}

/// Packs some pairs of one panel, `columns` of its `width`; the rest is filled up with zeros.
void pack_pairs(const PairOperand& b, int64_t pairs, int64_t columns, int64_t width, BFloat16* to);

}  // namespace lathe::cpu
