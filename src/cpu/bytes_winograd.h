// Convolution of bytes by Winograd's F(2, 3), for instruction sets that multiply pairs of 16 bits but no
// quads of bytes: a tile of 2 x 2 outputs takes 16 products instead of 36, and they are exact. Weights at the
// points are multiplied by four, so that they stay whole, and sums are divided by it.
#pragma once

#include "cpu/bytes_conv.h"

namespace lathe::cpu {

/// Weights [filters, channels, 3, 3], windows that step by one, and so few channels that four times any sum
/// is within int32.
bool fits_byte_winograd(const ByteConvShape& s);
/// Whether it takes less time than byte_convolution().
bool prefers_byte_winograd(Isa isa, const ByteConvShape& s);

// As of byte_convolution(). Packed weights are [filters / 16][point][pairs of channels][16][2] of int16, with
// the sums of each filter behind them.
int64_t byte_winograd_weights_size(const ByteConvShape& s);
void pack_byte_winograd(const ByteConvShape& s, const void* weights, bool is_signed, int8_t* to,
                        Workers& workers);
const int32_t* byte_winograd_sums(const ByteConvShape& s, const int8_t* packed);
size_t byte_winograd_workspace(Isa isa, const ByteConvShape& s, int threads);
void byte_winograd(Isa isa, const ByteConvShape& s, const ByteImages& images, void* workspace,
                   KernelContext& c);

// What an instruction set has kernels for. Tiles are neighbours in one row of tiles; point p of tile i is at
// points[p * point + i * tile].

/// Tiles of one block of channels to their points.
struct ByteTilesIn {
  const uint8_t* x = nullptr;  // the first pixel of the first tile, of the padded image
  int64_t row = 0;             // bytes
  int64_t tiles = 0;
  int16_t* points = nullptr;
  int64_t point = 0, tile = 0;
};
/// Some tiles at one point times a block of filters.
struct BytePoint {
  const int16_t* x = nullptr;
  int64_t tile = 0;
  const int16_t* weights = nullptr;
  int64_t pairs = 0;  // of channels
  // What is wanted next is fetched on the way: a line with each pair, so many bytes apart.
  const char* next = nullptr;
  int64_t next_step = 0;
  int32_t* sums = nullptr;  // 16 of each tile
};
/// The sums of tiles to what is stored of a block of filters.
struct ByteTilesOut {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0, tiles = 0;  // the first tile, and how many
  const int32_t* sums = nullptr;           // 16 of each tile
  int64_t point = 0;
  const int32_t* start = nullptr;
  const ByteGrid* grid = nullptr;
  const uint8_t* other = nullptr;  // the block of one image, laid out as y is
  uint8_t* y = nullptr;
};
struct ByteWinogradKernels {
  int rows;  // tiles that are multiplied at once
  void (*in)(const ByteTilesIn&);
  void (*products[most_byte_rows + 1])(const BytePoint&) = {};  // by tiles
  void (*out)(const ByteTilesOut&);
};
const ByteWinogradKernels& byte_winograd_kernels(Isa isa);

}  // namespace lathe::cpu
