// Samples of an image at positions that a tensor contains: the pixels of each sample and their weights are
// computed once for all channels.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/simd/isa.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// The samples that are processed together.
inline constexpr int64_t grid_block = 64;
/// The channels of a block of nChw16c.
inline constexpr int64_t grid_lanes = 16;

enum class GridPadding : uint8_t { zeros, border, reflection };

/// How samples are taken along one axis of the image.
struct GridAxis {
  int64_t size = 1;
  int64_t taps = 1;  // 1: the nearest pixel, 2: linear, 4: cubic
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
};

/// Numbers by tap and sample.
template <class T, int64_t taps>
using GridNumbers = std::array<std::array<T, grid_block>, taps>;

/// The taps along one axis: pixels (-1: outside, where all is 0), and their weights.
struct GridAxisTaps {
  GridNumbers<int32_t, 4> index;
  GridNumbers<float, 4> weight;
};
/// The taps of all axes: offsets within a plane, and weights.
struct GridTaps {
  static constexpr int64_t most = 64;  // cubic along three axes
  int64_t count = 1;
  GridNumbers<int64_t, most> at;
  GridNumbers<float, most> weight;
};

/// All functions process up to grid_block samples.
struct GridKernels {
  /// Taps of coordinates, -1 to 1 across the axis, which are `step` apart.
  void (*along)(const GridAxis&, const float* coordinates, int64_t step, int64_t n, GridAxisTaps&);
  /// Taps of positions in pixels; pixels beyond the ends are 0.
  void (*between)(const GridAxis&, const float* places, int64_t n, GridAxisTaps&);
  /// Combines the taps of three axes, outermost first; `outside` becomes the offset of pixels that are
  /// outside.
  void (*join)(const GridAxis (&axes)[3], const GridAxisTaps (&taps)[3], int64_t n, int64_t outside,
               GridTaps&);
  /// Samples a block of 16 channels, [pixels][grid_lanes]: to[n][grid_lanes].
  void (*sample_nchw16c)(const GridTaps&, const float* image, int64_t n, float* to);
  /// Samples one plane; offsets below 0 are outside.
  void (*sample_plane)(const GridTaps&, const float* plane, int64_t n, float* to);
};
const GridKernels& grid_kernels(Isa isa);

/// An image converted to nChw16c: [channels / grid_lanes][pixels and one of zeros][grid_lanes].
struct Nchw16cImage {
  Nchw16cImage(int64_t channels, int64_t area);
  /// Returns whether the image fits into a cache; a larger one would be written to memory and read from
  /// there.
  bool fits() const;
  int64_t floats() const { return blocks * pixels * grid_lanes; }
  /// The channels of a block.
  int64_t lanes(int64_t block) const { return std::min(grid_lanes, channels - block * grid_lanes); }
  const float* block(const float* nchw16c, int64_t i) const { return nchw16c + i * pixels * grid_lanes; }
  /// The index of the pixel of zeros.
  int64_t outside() const { return pixels - 1; }

  int64_t channels, blocks, pixels;
};
/// Converts an image of at least one pixel.
void to_nchw16c(Isa isa, const Nchw16cImage& t, const float* image, float* to, KernelContext& c);

}  // namespace lathe::cpu
