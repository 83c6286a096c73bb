// Weights of Winograd's convolution that are kept as they are, turned, and evaluated at the points while it
// runs: at the points they would be up to four times as many, to be held and to be read from memory.
#pragma once

#include "cpu/blocked.h"
#include "cpu/filters.h"

namespace lathe::cpu {

struct BlockedTiles;

/// Its place among `filterings`.
size_t form_of(Filtering f);

/// Floats of weights at the points alone.
int64_t winograd_points_size(const BlockedShape& s, Filtering f);
/// The turned weights of packed ones, whichever they are.
BlockedImages with_turned_weights(const BlockedShape& s, Filtering f, bool turned, BlockedImages images);

/// As pack_turned_weights() leaves them, [panel][channel][block of the panel][tap][16], of 32 bits or of 16.
class TurnedWeights {
 public:
  TurnedWeights(Isa isa, const BlockedShape& s, Filtering f, const BlockedImages& images);

  /// Some channels of a panel; its filters begin with block `first`.
  struct Piece {
    int64_t first = 0, channel = 0, n = 0;
  };
  /// Evaluates a piece: its weights of point p lie at to[p * point], channel by channel, each as wide as the
  /// panel.
  void evaluate(const Piece& p, float* to, int64_t point) const;
  /// Some channels' weights of one block of filters as float32, [tap][16] of each: where they lie, or widened
  /// to `room`. `apart`: floats from one channel to the next.
  const float* of_block(int64_t block, int64_t channel, int64_t n, int64_t& apart, float* room) const;
  /// Where weights of `n` channels after these lie, be it of the next block, of 32 bits or of 16; null where
  /// there are none. `apart`: floats from one channel to the next, in bytes.
  const float* after(int64_t block, int64_t channel, int64_t n, int64_t& apart) const;
  /// Lines of one channel of a block.
  int64_t lines() const { return (taps_ * channel_block * element_ + 63) / 64; }
  /// All of them, in the order of pack_winograd_weights() but for `point` floats from point to point.
  void evaluate_all(float* to, int64_t point, Workers& workers) const;

  /// Where a piece begins, and how many floats it takes: to be fetched.
  const float* at(const Piece& p) const;
  int64_t floats(const Piece& p) const { return p.n * width(p.first) * taps_ * element_ / 4; }
  /// Is any of them so large, or no number, that nothing but direct sums will do?
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
