// Panels of weights that are split into three bfloat16 while products are computed
// (cpu/nchw16c/blocked_bf16x3.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/nchw16c/blocked_bf16x3.h"

namespace lathe::cpu {

/// Returns whether x can be split: not infinities, NaN and numbers that round to infinity.
inline bool can_split(float x) { return (std::bit_cast<uint32_t>(x) & 0x7fffffffU) < 0x7f7f8000U; }
inline bool any_wrong(const Bf16x3Source& s) {
  return std::any_of(std::begin(s.wrong), std::end(s.wrong), [](float x) { return std::isnan(x); });
}
inline uint16_t lanes(int64_t channels) {
  const int64_t n = std::clamp<int64_t>(channels, 0, channel_block);
  return static_cast<uint16_t>((1u << n) - 1);
}

/// Some pairs of blocks of a panel of weights, as direct convolution packs it.
class WeightsSource final : public Bf16x3Source {
 public:
  /// `from` points to the panel's weights of all channels and taps; `blocks` is its number of blocks of
  /// filters.
  WeightsSource(int64_t channels, int64_t taps, const float* from, int64_t blocks, int64_t pair0,
                int64_t pair1, char* to)
      : channels_(channels), taps_(taps), from_(from), width_(blocks * channel_block), pair_(pair0), to_(to) {
    left = (pair1 - pair0) * taps * channel_block * blocks;
    run.stride = channel_block;
    run.to_stride = width_ < bf16x3_panel_filters ? 2 * part_pixel : part_pixel;
    run.part = part_weights / part_count;
  }

  void next() override {
    const int64_t channel = pair_ * 2 * channel_block, channels = channels_ - channel;
    const int64_t lows = std::min(channels, channel_block),
                  highs = std::clamp<int64_t>(channels - channel_block, 0, channel_block);
    const float* const low = from_ + (channel * taps_ + tap_ * lows) * width_;
    const float* const high =
        highs > 0 ? from_ + ((channel + channel_block) * taps_ + tap_ * highs) * width_ : low;
    // The rows that both blocks have, then those that one has, then those that neither has.
    const int64_t begin = row_, end = row_ < highs ? highs : row_ < lows ? lows : channel_block;
    run.lows = lanes(begin < lows ? channel_block : 0);
    run.highs = lanes(begin < highs ? channel_block : 0);
    run.low = low + begin * width_;
    run.high = high + begin * width_;
    run.count = (end - begin) * width_ / channel_block;
    run.to = to_ + begin * 2 * part_pixel;
    // Prefetches two steps ahead.
    run.ahead = (taps_ == 1 ? 4 : 2) * channel_block * width_;
    row_ = end;
    if (row_ < channel_block) return;
    row_ = 0;
    to_ += part_weights;
    if (++tap_ == taps_) tap_ = 0, ++pair_;
  }

 private:
  int64_t channels_, taps_;
  const float* from_;
  int64_t width_;
  int64_t pair_, tap_ = 0, row_ = 0;
  char* to_;
};

}  // namespace lathe::cpu
