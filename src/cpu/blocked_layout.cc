// Between planes of channels and channel blocks.
#include <algorithm>

#include "cpu/blocked.h"
#include "cpu/isa.h"

namespace lathe::cpu {
namespace {

/// Pixels that are turned at once, and the fewest worth another thread.
constexpr int64_t piece_pixels = 1024;

/// Calls f(block, first pixel, pixels, channels of the block) for pieces of all blocks.
template <class F>
void for_each_piece(int64_t batch, int64_t channels, int64_t pixels, KernelContext& c, F&& f) {
  const int64_t blocks = channel_blocks(channels), pieces = (pixels + piece_pixels - 1) / piece_pixels;
  const int64_t grain = std::max<int64_t>(1, piece_pixels / std::max<int64_t>(1, pixels));
  c.parallel(batch * blocks * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t block = i / pieces, first = i % pieces * piece_pixels;
      const int64_t before = block / blocks * channels + block % blocks * channel_block;
      f(block, before, first, std::min(piece_pixels, pixels - first),
        std::min(channel_block, channels - block % blocks * channel_block));
    }
  });
}

}  // namespace

void to_blocks(Isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
               KernelContext& c) {
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   const float* from = x + channel * pixels + first;
                   float* to = y + (block * pixels + first) * channel_block;
                   for (int64_t p = 0; p < n; ++p, to += channel_block)
                     for (int64_t l = 0; l < channel_block; ++l)
                       to[l] = l < lanes ? from[l * pixels + p] : 0.0f;
                 });
}

void from_blocks(Isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
                 KernelContext& c) {
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   const float* from = x + (block * pixels + first) * channel_block;
                   float* to = y + channel * pixels + first;
                   for (int64_t l = 0; l < lanes; ++l)
                     for (int64_t p = 0; p < n; ++p) to[l * pixels + p] = from[p * channel_block + l];
                 });
}

}  // namespace lathe::cpu
