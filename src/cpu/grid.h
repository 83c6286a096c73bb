// Samples of an image at places that a tensor gives: which pixels count, and how much, is worked out once for
// all channels.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/isa.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// Samples that are worked on together.
inline constexpr int64_t grid_block = 64;
/// Channels whose elements of a pixel lie side by side in a turned image.
inline constexpr int64_t grid_lanes = 16;

enum class GridPadding : uint8_t { zeros, border, reflection };

/// How samples lie along one axis of the image.
struct GridAxis {
  int64_t size = 1;
  int64_t taps = 1;  // 1: the nearest pixel, 2: linear, 4: cubic
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
};

/// By tap and sample.
template <class T, int64_t taps>
using GridNumbers = std::array<std::array<T, grid_block>, taps>;

/// What one axis contributes: pixels (-1: outside, where all is 0), and their weights.
struct GridAxisTaps {
  GridNumbers<int32_t, 4> index;
  GridNumbers<float, 4> weight;
};
/// What all axes come to: places within a plane.
struct GridTaps {
  static constexpr int64_t most = 64;  // cubic along three axes
  int64_t count = 1;
  GridNumbers<int64_t, most> at;
  GridNumbers<float, most> weight;
};

/// All of them for up to grid_block samples.
struct GridKernels {
  /// Coordinates, -1 to 1 across the axis, are `step` apart.
  void (*along)(const GridAxis&, const float* coordinates, int64_t step, int64_t n, GridAxisTaps&);
  /// Of places in pixels, beyond whose ends all is 0.
  void (*between)(const GridAxis&, const float* places, int64_t n, GridAxisTaps&);
  /// The taps of three axes, outermost first; `outside` becomes the place of what lies there.
  void (*join)(const GridAxis (&axes)[3], const GridAxisTaps (&taps)[3], int64_t n, int64_t outside,
               GridTaps&);
  /// Of an image turned to [pixels][grid_lanes]: to[n][grid_lanes].
  void (*sample_turned)(const GridTaps&, const float* image, int64_t n, float* to);
  /// Of one plane, whose places below 0 are outside.
  void (*sample_plane)(const GridTaps&, const float* plane, int64_t n, float* to);
};
const GridKernels& grid_kernels(Isa isa);

/// An image turned to [channels / grid_lanes][pixels and one of zeros][grid_lanes].
struct TurnedImage {
  TurnedImage(int64_t channels, int64_t area);
  /// Is it small enough to stay in a cache? Beyond, it would be written to memory and read from there.
  bool fits() const;
  int64_t floats() const { return blocks * pixels * grid_lanes; }
  /// Channels of a block.
  int64_t lanes(int64_t block) const { return std::min(grid_lanes, channels - block * grid_lanes); }
  const float* block(const float* turned, int64_t i) const { return turned + i * pixels * grid_lanes; }
  /// The place of the pixel of zeros.
  int64_t outside() const { return pixels - 1; }

  int64_t channels, blocks, pixels;
};
/// Of an image of at least one pixel.
void turn_image(Isa isa, const TurnedImage& t, const float* image, float* to, KernelContext& c);

}  // namespace lathe::cpu
