// Convolution for float32, NC[spatial], of any rank up to three spatial axes, with groups, strides, dilations
// and padding.
//
// Depthwise planes are convolved directly; everything else is a product of the weights with patches of the
// image (im2col), a few panels of which are made at a time and stay in the second-level cache.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// A convolution with three spatial axes; with fewer, the first ones have size 1, kernel 1, stride 1,
/// dilation 1 and pad 0.
struct ConvShape {
  int64_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;  // channels of all groups
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          dilation[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0};  // in front of each axis
  bool volume = false;         // true if there are three spatial axes
  bool weighted = false;       // for planes(): each tap has a weight of its own

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t depth() const { return in_channels / groups * taps(); }  // terms of one output element
};

/// The number of floats of packed weights, which does not depend on batch or on the sizes of the image.
int64_t packed_conv_weights_size(const GemmKernels& g, const ConvShape& s);
/// Packs weights [out_channels, in_channels / groups, kernel…].
void pack_conv_weights(const GemmKernels& g, const ConvShape& s, const float* weights, float* to,
                       Workers& workers);

/// Packed weights: float32, or floats of 16 bits that are widened where they are used.
struct ConvWeights {
  const void* data = nullptr;
  DataType type = DataType::float32;
  bool f16() const { return type != DataType::float32; }
};
/// The bytes of scratch, 64-byte aligned. `f16`: the weights are floats of 16 bits.
size_t conv_workspace(const GemmKernels& g, const ConvShape& s, bool f16, int threads);
/// y = conv(x, weights) + bias, where `bias` has one element per output channel or is null.
void conv(Isa isa, const ConvShape& s, const float* x, const ConvWeights& weights, const float* bias,
          float* y, void* workspace, KernelContext& c);

/// A run of neighboring output pixels in one panel: its destination and the pixels that it reads.
struct PatchRun {
  int64_t to;  // offset in the block of panels, for k = 0 of the block
  int64_t length;
  int64_t at[3];  // first output pixel
  bool empty;     // lanes beyond the last pixel
};
/// The patches of some output pixels: terms [k0, k1) of one group of one image.
struct Patches {
  const ConvShape* shape = nullptr;
  const float* image = nullptr;  // the first channel of the group
  const PatchRun* runs = nullptr;
  int64_t run_count = 0;
  int64_t k0 = 0, k1 = 0;
  int64_t NR = 0;
  float* to = nullptr;
};
/// Some rows and columns of one depthwise plane.
struct Plane {
  const ConvShape* shape = nullptr;
  const float* image = nullptr;
  const float* weights = nullptr;  // one per tap; null: 1
  float start = 0;
  const float* row_factor = nullptr;  // factors of the results of each row and column, or both null
  const float* column_factor = nullptr;
  float slice_factor = 1;      // a factor of all results of the slice
  int64_t slice = 0;           // of the output; `image` and `to` begin with their first slices
  int64_t row0 = 0, row1 = 0;  // output rows
  int64_t column0 = 0, column1 = 0;
  float* scratch = nullptr;
  float* to = nullptr;  // the output plane
};
struct ConvKernels {
  void (*patches)(const Patches&) = nullptr;
  void (*weighted_sum)(const Plane&) = nullptr;
  void (*maximum)(const Plane&) = nullptr;
};
const ConvKernels& conv_kernels(Isa isa);

/// The layout in scratch of the input rows for `out` columns of a depthwise plane: padded with zeros, with
/// the columns of each stride phase together, so that each tap of neighboring outputs reads neighboring
/// floats.
struct PlaneLayout {
  PlaneLayout(const ConvShape& s, int64_t out)
      : columns((s.kernel[2] - 1) * s.dilation[2] / s.stride[2] + (out + 15) / 16 * 16),
        row(columns * s.stride[2]) {}
  int64_t columns;  // of one phase
  int64_t row;      // floats of an input row
};

inline constexpr int64_t max_plane_taps = 512;  // of a window with weights, or of its slice without
/// Returns whether each channel can be pooled by itself, in padded rows in scratch. Depends on the kernel and
/// its attributes alone.
bool fits_planes(const ConvShape& s);
/// The bytes of scratch for planes().
size_t planes_workspace(const ConvShape& s, int threads);

/// A window that slides over every channel of every image: convolution with groups of one channel, or
/// pooling.
struct Planes {
  ConvShape shape;
  const float* x = nullptr;
  const float* weights = nullptr;  // [channels, taps]; null: 1
  const float* bias = nullptr;     // [channels]; null: `start`
  float start = 0;
  const float* slice_factor = nullptr;  // all three or none
  const float* row_factor = nullptr;
  const float* column_factor = nullptr;
  float* y = nullptr;
};
void planes(void (*kernel)(const Plane&), const Planes& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
