// Convolution of bytes by Winograd's F(2, 3), for instruction sets that multiply pairs of 16 bits but no
// quads of bytes: a tile of 2 x 2 outputs takes 16 products instead of 36, and they are exact. Transformed
// weights are multiplied by four, so that they stay integers, and sums are divided by four.
#pragma once

#include "cpu/quantized/int8_conv.h"

namespace lathe::cpu {

/// Returns whether weights are [filters, channels, 3, 3], windows step by one, and channels are so few that
/// four times any sum is within int32.
bool fits_int8_winograd(const Int8ConvShape& s);
/// Returns whether it takes less time than int8_convolution().
bool prefers_int8_winograd(Isa isa, const Int8ConvShape& s);

// The same as for int8_convolution(). Packed weights are [filters / 16][point][pairs of channels][16][2] of
// int16, followed by the sum of each filter.
int64_t int8_winograd_weights_size(const Int8ConvShape& s);
void pack_int8_winograd(const Int8ConvShape& s, const void* weights, bool is_signed, int8_t* to,
                        Workers& workers);
const int32_t* int8_winograd_sums(const Int8ConvShape& s, const int8_t* packed);
size_t int8_winograd_workspace(Isa isa, const Int8ConvShape& s, int threads);
void int8_winograd(Isa isa, const Int8ConvShape& s, const Int8Images& images, void* workspace,
                   KernelContext& c);

// The kernels of one instruction set. Tiles are neighbors in one row of tiles; point p of tile i is at
// points[p * point + i * tile].

/// Transforms tiles of one block of channels to their points.
struct Int8TilesIn {
  const uint8_t* x = nullptr;  // the first pixel of the first tile, of the padded image
  int64_t row = 0;             // bytes
  int64_t tiles = 0;
  int16_t* points = nullptr;
  int64_t point = 0, tile = 0;
};
/// Multiplies some tiles at one point with a block of filters.
struct Int8Point {
  const int16_t* x = nullptr;
  int64_t tile = 0;
  const int16_t* weights = nullptr;
  int64_t pairs = 0;  // of channels
  // The next weights are prefetched meanwhile: a line with each pair, next_step bytes apart.
  const char* next = nullptr;
  int64_t next_step = 0;
  int32_t* sums = nullptr;  // 16 of each tile
};
/// Transforms the sums of tiles to outputs of a block of filters, and requantizes them.
struct Int8TilesOut {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0, tiles = 0;  // the first tile, and how many
  const int32_t* sums = nullptr;           // 16 of each tile
  int64_t point = 0;
  const int32_t* start = nullptr;
  const RequantParams* requant = nullptr;
  const uint8_t* other = nullptr;  // the block of one image, laid out as y is
  uint8_t* y = nullptr;
};
struct Int8WinogradKernels {
  int rows;  // tiles that are multiplied at once (MR)
  void (*in)(const Int8TilesIn&);
  void (*products[max_int8_rows + 1])(const Int8Point&) = {};  // by tiles
  void (*out)(const Int8TilesOut&);
};
const Int8WinogradKernels& int8_winograd_kernels(Isa isa);

}  // namespace lathe::cpu
