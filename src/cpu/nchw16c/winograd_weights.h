// Weights of Winograd's convolution that are stored untransformed, and evaluated at the points while it runs:
// transformed ones would be up to four times as many to hold and to read from memory.
#pragma once

#include "cpu/nchw16c/blocked.h"
#include "cpu/nchw16c/filters.h"

namespace lathe::cpu {

struct BlockedTiles;

/// The index of a filtering in `filterings`.
size_t form_of(Filtering f);

/// The floats of the transformed weights alone.
int64_t winograd_points_size(const BlockedShape& s, Filtering f);
/// Returns the images with the untransformed weights of packed ones of either kind.
BlockedImages select_untransformed_weights(const BlockedShape& s, Filtering f, bool untransformed,
                                           BlockedImages images);

/// Weights packed by pack_untransformed_weights(), [panel][channel][block of the panel][tap][16], of 32 or 16
/// bits.
class UntransformedWeights {
 public:
  UntransformedWeights(Isa isa, const BlockedShape& s, Filtering f, const BlockedImages& images);

  /// Some channels of a panel; its filters begin with block `first`.
  struct Piece {
    int64_t first = 0, channel = 0, n = 0;
  };
  /// Evaluates a piece: its weights of point p are written to to[p * point], channel by channel, each as wide
  /// as the panel.
  void evaluate(const Piece& p, float* to, int64_t point) const;
  /// Some channels' weights of one block of filters as float32, [tap][16] of each: in place, or widened to
  /// `buffer`. `stride`: floats from one channel to the next.
  const float* of_block(int64_t block, int64_t channel, int64_t n, int64_t& stride, float* buffer) const;
  /// The address of the weights of the next `n` channels, possibly of the next block, of 32 or 16 bits; null
  /// if there are none. `stride`: the distance of channels in units of four bytes.
  const float* after(int64_t block, int64_t channel, int64_t n, int64_t& stride) const;
  /// Lines of one channel of a block.
  int64_t lines() const { return (taps_ * channel_block * element_ + 63) / 64; }
  /// Evaluates all, in the order of pack_winograd_weights() except for `point` floats from point to point.
  void evaluate_all(float* to, int64_t point, Workers& workers) const;

  /// The address of a piece, and its size in floats, for prefetches.
  const float* at(const Piece& p) const;
  int64_t floats(const Piece& p) const { return p.n * width(p.first) * taps_ * element_ / 4; }
  /// Returns whether any is so large, or NaN, that all tiles must be computed by direct sums.
  bool only_direct() const;

 private:
  int64_t width(int64_t first) const;
  int64_t index(const Piece& p) const;  // of its first weight
  int64_t index(int64_t block, int64_t channel) const;

  const Isa isa_;
  const BlockedShape& s_;
  const Filtering f_;
  const BlockedImages images_;
  const FilterKernels& kernels_;
  const BlockedTiles& tiles_;
  const int64_t taps_, element_;  // bytes
};

}  // namespace lathe::cpu
