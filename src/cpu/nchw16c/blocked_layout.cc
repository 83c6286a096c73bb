// Reorders between planes of channels and channel blocks.
#include <algorithm>

#include "cpu/movement.h"
#include "cpu/nchw16c/blocked.h"
#include "cpu/simd/transpose_tile.h"

namespace lathe::cpu {
namespace {

/// Pixels that are transposed at once, and the fewest worth another thread.
constexpr int64_t piece_pixels = 1024;
constexpr int64_t piece_elements = piece_pixels * channel_block;

/// Calls f(block, its first channel, first pixel, pixels, channels of the block) for pieces of all blocks.
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

void to_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
               KernelContext& c) {
  const TransposeKernels& k = transpose_kernels(isa);
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   float* const to = y + (block * pixels + first) * channel_block;
                   k.transpose(x + channel * pixels + first, pixels, to, channel_block, lanes, n);
                   if (lanes == channel_block) return;
                   for (int64_t p = 0; p < n; ++p)
                     std::fill(to + p * channel_block + lanes, to + (p + 1) * channel_block, 0.0f);
                 });
}

void from_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
                 KernelContext& c) {
  const TransposeKernels& k = transpose_kernels(isa);
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   k.transpose(x + (block * pixels + first) * channel_block, channel_block,
                               y + channel * pixels + first, pixels, n, lanes);
                 });
}

void channels_last(Isa isa, int64_t batch, int64_t groups, int64_t channels, int64_t pixels, const float* x,
                   std::span<const ChannelSlice> slices, KernelContext& c) {
  if (channels == 0 || pixels == 0) return;
  const TransposeKernels& k = transpose_kernels(isa);
  const int64_t blocks = channel_blocks(groups * channels), plane = pixels * channel_block;
  const int64_t piece = std::max<int64_t>(1, piece_elements / channels);
  const int64_t pieces = (pixels + piece - 1) / piece;
  const int64_t grain = std::max<int64_t>(1, piece_elements / (std::min(piece, pixels) * channels));
  c.parallel(batch * groups * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t first = i % pieces * piece, group = i / pieces;
      for (const ChannelSlice& part : slices) {
        const int64_t channel = group % groups * channels + part.first;
        const int64_t block = group / groups * blocks + channel / channel_block;
        k.join_blocks(x + block * plane + first * channel_block, plane, channel % channel_block,
                      part.y + (group * pixels + first) * part.count, part.count,
                      std::min(piece, pixels - first));
      }
    }
  });
}

void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint16_t* x, uint16_t* y,
                 KernelContext& c) {
  constexpr int64_t n = transpose_side<uint16_t>;
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t count, int64_t lanes) {
                   const uint16_t* const from = x + (block * pixels + first) * channel_block;
                   uint16_t* const to = y + channel * pixels + first;
                   for (int64_t l = 0; l < lanes; l += n) {
                     const int64_t some = std::min(n, lanes - l);
                     int64_t p = 0;
                     for (; p + n <= count; p += n)
                       transpose_tile(from + p * channel_block + l, channel_block, to + l * pixels + p,
                                      pixels, some);
                     for (; p < count; ++p)
                       for (int64_t i = l; i < l + some; ++i)
                         to[i * pixels + p] = from[p * channel_block + i];
                   }
                 });
}

namespace {

/// Reorders pixels of at most four channels, each of which is a word and zeros.
void to_few_lanes(const uint8_t* x, int64_t plane, int64_t n, int64_t lanes, uint8_t sign_xor, uint8_t* to) {
  const uint8_t* from[4];
  for (int64_t l = 0; l < 4; ++l) from[l] = x + (l < lanes ? l : 0) * plane;
  const uint32_t wanted = lanes == 4 ? ~0u : (1u << (8 * lanes)) - 1,
                 xor_pixel = sign_xor * 0x01010101u & wanted;
  for (int64_t p = 0; p < n; ++p, to += channel_block) {
    const uint32_t word = static_cast<uint32_t>(from[0][p]) | static_cast<uint32_t>(from[1][p]) << 8 |
                          static_cast<uint32_t>(from[2][p]) << 16 | static_cast<uint32_t>(from[3][p]) << 24;
    const uint32_t pixel[4] = {(word & wanted) ^ xor_pixel, 0, 0, 0};
    std::memcpy(to, pixel, sizeof pixel);
  }
}

/// Pixels and channels that are transposed at once.
constexpr int64_t square = transpose_side<uint8_t>;
static_assert(square == channel_block);

void flip_signs(uint8_t* row, uint8_t sign_xor) {
  for (int64_t i = 0; i < square; ++i) row[i] ^= sign_xor;
}

/// Reorders one block: rows of pixels, `plane` apart, become pixels of channels.
void to_lanes(const uint8_t* x, int64_t plane, int64_t n, int64_t lanes, uint8_t sign_xor, uint8_t* to) {
  uint8_t rows[square * square] = {};
  int64_t p = 0;
  for (; p + square <= n; p += square) {
    for (int64_t l = 0; l < lanes; ++l) {
      std::memcpy(rows + l * square, x + l * plane + p, square);
      flip_signs(rows + l * square, sign_xor);
    }
    transpose_tile(rows, square, to + p * channel_block, channel_block);
  }
  for (; p < n; ++p)
    for (int64_t l = 0; l < channel_block; ++l)
      to[p * channel_block + l] = l < lanes ? x[l * plane + p] ^ sign_xor : 0;
}

void from_lanes(const uint8_t* x, int64_t plane, int64_t n, int64_t lanes, uint8_t sign_xor, uint8_t* to) {
  int64_t p = 0;
  for (; p + square <= n; p += square) {
    transpose_tile(x + p * channel_block, channel_block, to + p, plane, lanes);
    if (sign_xor)
      for (int64_t l = 0; l < lanes; ++l) flip_signs(to + l * plane + p, sign_xor);
  }
  for (; p < n; ++p)
    for (int64_t l = 0; l < lanes; ++l) to[l * plane + p] = x[p * channel_block + l] ^ sign_xor;
}

}  // namespace

void to_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t sign_xor,
               uint8_t* y, KernelContext& c) {
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   const auto move = lanes <= 4 ? to_few_lanes : to_lanes;
                   move(x + channel * pixels + first, pixels, n, lanes, sign_xor,
                        y + (block * pixels + first) * channel_block);
                 });
}

void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t sign_xor,
                 uint8_t* y, KernelContext& c) {
  for_each_piece(batch, channels, pixels, c,
                 [&](int64_t block, int64_t channel, int64_t first, int64_t n, int64_t lanes) {
                   from_lanes(x + (block * pixels + first) * channel_block, pixels, n, lanes, sign_xor,
                              y + channel * pixels + first);
                 });
}

}  // namespace lathe::cpu
