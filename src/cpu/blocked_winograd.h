// What Winograd convolution needs for each instruction set: tiles of the image into points, and points into
// tiles of the output.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Neighbouring tiles of one row of tiles, in one block of channels. Point p of tile i lies at
/// points[p * point + i * tile].
struct WinogradRow {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0, tiles = 0;  // the first tile, and how many
  float* points = nullptr;
  int64_t point = 0, tile = channel_block;
  const float* x = nullptr;      // input: the block of one image
  int64_t channels = 0;          // … of which so many are there
  const float* bias = nullptr;   // output: 16
  float* y = nullptr;            // … and the block of one image
  Bounds bounds = {};            // … that y is kept within
  const float* added = nullptr;  // … and what is added to it before, laid out as it is; null: nothing
};

struct WinogradKernels {
  // For each of `filterings`.
  void (*input[3])(const WinogradRow&) = {};
  void (*output[3])(const WinogradRow&) = {};
};
const WinogradKernels& winograd_kernels(Isa isa);

}  // namespace lathe::cpu
