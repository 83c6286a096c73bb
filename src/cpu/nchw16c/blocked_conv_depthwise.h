// A convolution in channel blocks fused with the depthwise one or the maximum pool behind it: one strip of
// one panel of the first one's filters after the other, so that the values between both never leave the
// second-level cache. The first one has the bits of direct_convolution() without bf16x3 and for more than one
// pixel, the second those of depthwise_convolution() or blocked_maximum().
#pragma once

#include <span>

#include "cpu/elementwise.h"
#include "cpu/nchw16c/blocked_shape.h"

namespace lathe::cpu {

/// The activation of every element between both.
struct ConvDepthwiseActivation {
  std::optional<UnaryOp> op;
  float a = 0, b = 0;
};

/// second.channels == first.filters and second.in == first.out; the first one does not use bf16_dot2.
struct ConvDepthwiseShape {
  BlockedShape first, second;
  ConvDepthwiseActivation between = {};
  bool pools = false;  // true if the second one is a maximum pool
};

/// The shape that weights of a pool's windows would have.
inline Shape pool_weights(int64_t channels, std::span<const int64_t> window) {
  Shape w{channels, 1};
  for (int64_t size : window) w.push_back(size);
  return w;
}

/// Fits both shapes to the image that the first one reads, as fit_image() does for one convolution.
template <class Windowing>
void fit_conv_depthwise(ConvDepthwiseShape& s, const Windowing& first, const Windowing& second, Shape x,
                        size_t spatial) {
  fit_image(s.first, first, x, spatial);
  for (size_t i = 0; i < spatial; ++i) x[i + 2] = s.first.out[2 - spatial + i];
  fit_image(s.second, second, x, spatial);
}

/// Weights are packed by pack_direct_weights() and pack_depthwise_weights(). Biases may be null, and so may
/// the depthwise weights and bias of a pool.
struct ConvDepthwiseImages {
  const float *x, *weights, *bias;
  const float *depthwise_weights = nullptr, *depthwise_bias = nullptr;
  void* y;
  DataType y_type = DataType::float32;  // or a float of 16 bits
  float* row_means = nullptr;           // means of the finished rows of y, as float32; null: not required
};

/// Returns whether this is estimated to be faster than one after the other: if there are many values between
/// both, strips compute few of them twice, and the first one would be computed directly and in float32. Other
/// algorithms are faster, and have other bits.
bool pays_conv_depthwise(Isa isa, const ConvDepthwiseShape& s);
/// `writes_f16`: whether the output has 16 bits.
size_t conv_depthwise_workspace(Isa isa, const ConvDepthwiseShape& s, bool writes_f16, int threads);
void conv_depthwise(Isa isa, const ConvDepthwiseShape& s, const ConvDepthwiseImages& images, void* workspace,
                    KernelContext& c);

}  // namespace lathe::cpu
