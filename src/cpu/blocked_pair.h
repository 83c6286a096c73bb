// A convolution in channel blocks and the depthwise one or the pool of maxima behind it, in one go: a strip
// of one panel of the first's filters after the other, so that what lies between never leaves the
// second-level cache. The first one is computed as direct_convolution() does without parts, and of more than
// one pixel, the second as depthwise_convolution() or blocked_maximum(), with the same bits.
#pragma once

#include <span>

#include "cpu/blocked_shape.h"
#include "cpu/elementwise.h"

namespace lathe::cpu {

/// What is done with every element in between.
struct PairActivation {
  std::optional<UnaryOp> op;
  float a = 0, b = 0;
};

/// second.channels == first.filters and second.in == first.out; the first one is not in pairs of bfloat16.
struct PairShape {
  BlockedShape first, second;
  PairActivation between = {};
  bool pools = false;  // is the second one a pool of maxima?
};

/// The shape that weights of a pool's windows would have.
inline Shape pool_weights(int64_t channels, std::span<const int64_t> window) {
  Shape w{channels, 1};
  for (int64_t size : window) w.push_back(size);
  return w;
}

/// What follows from the image that the first one sees, as fit_image() says of one convolution.
template <class Windowing>
void fit_pair(PairShape& s, const Windowing& first, const Windowing& second, Shape x, size_t spatial) {
  fit_image(s.first, first, x, spatial);
  for (size_t i = 0; i < spatial; ++i) x[i + 2] = s.first.out[2 - spatial + i];
  fit_image(s.second, second, x, spatial);
}

/// Weights as pack_direct_weights() and pack_depthwise_weights() leave them; biases may be null, and so are
/// the depthwise ones of a pool.
struct PairImages {
  const float *x, *weights, *bias;
  const float *depthwise_weights = nullptr, *depthwise_bias = nullptr;
  void* y;
  DataType y_type = DataType::float32;  // or a float of 16 bits
  float* row_means = nullptr;           // of what y is when it is finished, as float32; null: unwanted
};

/// Is it thought to be faster than one after the other? Does much lie between, do strips compute little of it
/// twice, and would the first one be computed directly and as float32 alone? Other algorithms are faster than
/// that, and their bits are others.
bool pays_as_pair(Isa isa, const PairShape& s);
/// `narrows`: is the output to be of 16 bits?
size_t pair_workspace(Isa isa, const PairShape& s, bool narrows, int threads);
void convolution_pair(Isa isa, const PairShape& s, const PairImages& images, void* workspace,
                      KernelContext& c);

}  // namespace lathe::cpu
