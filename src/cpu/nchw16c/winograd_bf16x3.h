// Products of Winograd's points in bf16x3 on AMX tiles (cpu/simd/bf16x3_amx.h): those of one point are a 1 x
// 1 convolution of a group's tiles.
#pragma once

#include "cpu/nchw16c/blocked_bf16x3.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// How a group's products are divided, and their layout: [point][panel of 32 filters][tile][32]. It follows
/// from the numbers of channels, filters and tiles alone.
struct PointsDivision {
  PointsDivision(int64_t channels, int64_t filters, int64_t tiles);

  /// Floats from panel to panel, and from point to point.
  int64_t panel() const { return rows * bf16x3_panel_filters; }
  int64_t point() const { return panels * panel(); }
  /// Bytes of a thread's scratch: a point's tiles, and weights of the step that is computed and of the next.
  int64_t split_tiles() const { return pairs * rows * bf16x3_pixel; }
  int64_t scratch() const { return split_tiles() + 2 * part_weights; }

  int64_t channels, filters;
  int64_t pairs, panels;  // of blocks of channels, and of filters
  int64_t run, rows;      // tiles that are multiplied at once, and the most tiles
};

/// The products of one group of tiles.
struct PointProducts {
  const float* x = nullptr;  // the tiles at the points: [point][block][x_tiles][16]
  int64_t x_tiles = 0, x_point = 0;
  int64_t tiles = 0;               // of the group
  const float* weights = nullptr;  // at the points
  float* y = nullptr;
  /// Computes one product in float32: a tile with a panel of filters, at a point.
  virtual void multiply_in_float32(int64_t point, int64_t panel, int64_t tile) const = 0;
};

/// Computes the products of points [begin, end). `scratch` is aligned to a line.
void multiply_points(const PointsDivision& d, const PointProducts& p, int64_t begin, int64_t end,
                     char* scratch, KernelContext& c);

}  // namespace lathe::cpu
