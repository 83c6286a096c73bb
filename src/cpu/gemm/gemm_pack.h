// Packs operands of products piece by piece.
#pragma once

#include <algorithm>

#include "cpu/ceil_of.h"
#include "cpu/gemm/gemm.h"

namespace lathe::cpu {

/// Blocks of k begin at multiples of this, which is a multiple of the blocks of A and of the steps of bf16x3.
inline constexpr int64_t k_grain = part_depth;
static_assert(k_grain % a_block == 0 && KC % k_grain == 0);
/// KC for this k: the length of equal blocks, after each of which C is updated.
inline int64_t k_step(int64_t k) {
  const int64_t blocks = std::max<int64_t>(1, ceil_of(k, KC));
  return std::max(k_grain, ceil_of(k, blocks * k_grain) * k_grain);
}
/// The number of floats that are packed between two polls.
inline constexpr int64_t packed_in_one_go = int64_t{1} << 18;

/// Packs k in pieces by f(k0, length), polling in between, since rows or columns may be very long.
template <class F>
void pack_pieces(int64_t k, int64_t width, Workers& workers, F&& f) {
  const int64_t step = std::max(k_grain, packed_in_one_go / std::max<int64_t>(1, width) / k_grain * k_grain);
  for (int64_t k0 = 0; k0 < k; k0 += step) {
    workers.poll();
    f(k0, std::min(step, k - k0));
  }
}

/// Packs some pairs of one panel, `columns` of its `width`; the other columns are zeros.
void pack_bf16_pairs(const Bf16PairOperand& b, int64_t pairs, int64_t columns, int64_t width, BFloat16* to);

}  // namespace lathe::cpu
