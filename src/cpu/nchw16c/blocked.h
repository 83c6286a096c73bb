// Convolution and pooling of float32 images with channels in blocks of 16: [N, C / 16, H, W, 16]. Every pixel
// of a block is one or more whole vectors, neighboring pixels are neighbors in memory, and so windows are
// read in place.
//
// Lanes beyond the last channel hold whatever elementwise operators wrote there. Sums over channels never
// read them; operations on single channels keep them separate.
#pragma once

#include <span>

#include "cpu/gemm.h"
#include "cpu/simd/f16.h"

namespace lathe::cpu {

inline constexpr int64_t channel_block = 16;
inline int64_t channel_blocks(int64_t channels) { return (channels + channel_block - 1) / channel_block; }

/// A window that slides over images with two spatial axes. A single axis is the second; the first is then 1.
struct BlockedShape {
  int64_t batch = 1, channels = 1, filters = 1;
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  int64_t pad[2] = {0, 0};  // in front of each axis
  bool nchw = false;        // true if the images are [N, C, H, W]
  bool scaled = false;      // true if x is scaled before it is used (BlockedImages::before)
  bool gated = false;       // true if only by factors, so that weights may be scaled instead
  bool bf16_dot2 = false;   // for direct convolution: true if factors are rounded to bfloat16, and multiplied
                            // in pairs
  /// For direct convolution: image i is multiplied with set i % sets of weights and biases. So the channels
  /// of a grouped convolution are consecutive images, each with `merged` groups, which fill whole blocks.
  /// Elements of one group that are not finite do not affect the others, although these multiply them with
  /// zeros.
  int64_t sets = 1, merged = 1;
  int64_t group = 0;  // Winograd: floats that go through all stages together; 0: chosen automatically

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// The terms of one tap: channels, or pairs of them.
  int64_t terms() const { return bf16_dot2 ? (channels + 1) / 2 : channels; }
  int64_t in_pixels() const { return in[0] * in[1]; }
  int64_t out_pixels() const { return out[0] * out[1]; }
  int64_t reach(int axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t in_blocks() const { return channel_blocks(channels); }
  int64_t out_blocks() const { return channel_blocks(filters); }
  /// The floats of the output in blocks.
  int64_t out_floats() const { return batch * out_blocks() * out_pixels() * channel_block; }
  bool empty() const { return batch == 0 || filters == 0 || out_pixels() == 0; }
};

/// Returns whether several threads divide the output into rows of all blocks instead of blocks: for images
/// larger than the weights of most convolutions, which divide them likewise, so that each thread finds in its
/// cache what it wrote.
inline bool goes_by_rows(const BlockedShape& s) {
  constexpr int64_t image = 400;  // pixels
  return s.batch == 1 && s.out_pixels() >= image;
}

/// The operands of all convolutions here. Weights are [filters, channels, kernel…] packed by the same
/// algorithm. The output is [batch, filters / 16, out…, 16]; its lanes beyond the last filter are 0 as long
/// as x is finite. Weights of 16 bits are widened when they are used.
struct BlockedImages {
  const float* x = nullptr;
  const void* weights = nullptr;
  DataType weights_type = DataType::float32;
  const float* bias = nullptr;  // one per filter; null: 0
  float* y = nullptr;
  float* row_means = nullptr;  // for depthwise convolutions, the means of the finished rows of y; null: not
                               // required
  ChannelScaling before = {};  // if the shape is scaled, applied to x; padding stays 0
};

// Direct convolution: sums over all taps of all channels, read in place or from a padded and scaled copy of a
// few rows. Gates are multiplied with the weights.
int64_t direct_weights_size(Isa isa, const BlockedShape& s);  // of a set
void pack_direct_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// Packs all sets, from weights [sets * filters, channels / merged, kernel…].
void pack_grouped_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// With bf16_dot2: writes twice as many elements as direct_weights_size() returns.
void pack_bf16_pair_weights(Isa isa, const BlockedShape& s, const BFloat16* weights, BFloat16* to,
                            Workers& workers);
/// `f16`: whether the weights are 16-bit floats.
size_t direct_workspace(Isa isa, const BlockedShape& s, bool f16, int threads);
/// Returns whether y may be the tensor that the epilogue adds first: each element is then read before it is
/// written, and not again.
bool direct_adds_over(Isa isa, const BlockedShape& s, DataType weights);
void direct_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                        KernelContext& c);
/// Returns whether the algorithm that is estimated to be fastest scales its input. If not, it is faster than
/// those that do, even with a separate pass before it.
bool pays_to_scale(Isa isa, const BlockedShape& s);
/// Returns whether there are fewer weights than pixels to multiply, or pixels are multiplied while they are
/// packed.
bool pays_to_gate(Isa isa, const BlockedShape& s);

/// Winograd's F(output x output, taps x taps), for kernels of taps x taps with a stride of 1.
struct Filtering {
  int output = 0, taps = 3;
  int size() const { return output + taps - 1; }  // of a tile of the image
  int points() const { return size() * size(); }
  bool operator==(const Filtering&) const = default;
};
inline constexpr Filtering filterings[] = {{2, 3}, {4, 3}, {2, 5}};

bool fits_winograd(const BlockedShape& s, Filtering f);
/// The filtering that is estimated to be fastest; output 0: direct convolution is.
Filtering fastest_winograd(Isa isa, const BlockedShape& s);
/// Returns whether untransformed weights are estimated to be faster, or not much slower while they save much
/// memory.
bool prefers_untransformed(Isa isa, const BlockedShape& s, Filtering f);
/// Transformed weights are up to four times as many. The untransformed ones follow them, for tiles that are
/// computed directly.
int64_t winograd_weights_size(const BlockedShape& s, Filtering f);
void pack_winograd_weights(Isa isa, const BlockedShape& s, Filtering f, const float* weights, float* to,
                           Workers& workers);
/// Untransformed weights are packed as they are, and transformed when they are used: for few tiles, which
/// would wait for more weights from memory, and for weights of 16 bits, since rounding transformed weights
/// loses more. A line behind them says whether any is too large for sums at the points.
int64_t untransformed_weights_size(const BlockedShape& s);
void pack_untransformed_weights(Isa isa, const BlockedShape& s, const float* weights, float* to,
                                Workers& workers);
/// `untransformed`: whether the weights are. y may be the tensor that the epilogue adds first.
size_t winograd_workspace(Isa isa, const BlockedShape& s, Filtering f, bool untransformed, int threads);
void winograd_convolution(Isa isa, const BlockedShape& s, Filtering f, bool untransformed,
                          const BlockedImages& images, void* workspace, KernelContext& c);

// Strassen–Winograd: products of 2 x 2 blocks (cpu/gemm/strassen.h), for windows that never leave the image.
bool fits_strassen(Isa isa, const BlockedShape& s);
/// Returns whether it is estimated to be faster than the others.
bool prefers_strassen(Isa isa, const BlockedShape& s);
int64_t strassen_weights_size(Isa isa, const BlockedShape& s);
void pack_strassen_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// Fills in the marks once packed weights have their final type: float32, or 16-bit floats.
void mark_strassen_weights(Isa isa, const BlockedShape& s, DataType type, void* packed, Workers& workers);
size_t strassen_workspace(Isa isa, const BlockedShape& s, bool f16, int threads);
/// The same as direct_adds_over().
bool strassen_adds_over(Isa isa, const BlockedShape& s, DataType weights);
void strassen_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                          KernelContext& c);

// Depthwise convolution: one filter for each channel; weights [channels, 1, kernel…].
int64_t depthwise_weights_size(const BlockedShape& s);
void pack_depthwise_weights(const BlockedShape& s, const float* weights, float* to);
size_t depthwise_workspace(const BlockedShape& s, bool f16);
void depthwise_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                           KernelContext& c);

// Pooling, channel by channel: `channels` and `filters` count whole blocks.
void blocked_maximum(Isa isa, const BlockedShape& s, const float* x, float* y, KernelContext& c);
/// Each sum is multiplied by the factor of its row and that of its column.
void blocked_average(Isa isa, const BlockedShape& s, const float* row_factor, const float* column_factor,
                     const float* x, float* y, KernelContext& c);
/// The mean of each of `blocks` blocks of `pixels` pixels.
void blocked_mean(Isa isa, int64_t blocks, int64_t pixels, const float* x, float* y, KernelContext& c);
/// Adds the pixels of a block to sums, lane by lane.
void blocked_sums(Isa isa, const float* x, int64_t pixels, float* sums);

/// Some pixels of a block: y = (x - mean) * factor + bias within bounds, with the values of each lane.
struct BlockScaling {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t pixels = 0;
  const float *mean = nullptr, *factor = nullptr, *bias = nullptr;
  Bounds bounds = {};
};
void scale_pixels(Isa isa, const BlockScaling& s);

/// Y = (X - mean) / deviation * scale + bias. Each group of neighboring channels in each image has its mean
/// and deviation, each channel its scale and bias. Images may be 16-bit floats.
struct BlockedNormalization {
  int64_t batch = 1, channels = 1, groups = 1, pixels = 1;
  const void* x = nullptr;
  const float *scale = nullptr, *bias = nullptr;
  void* y = nullptr;
  DataType x_type = DataType::float32, y_type = DataType::float32;
  float epsilon = 0;
};
/// `f16`: whether images may have 16 bits.
size_t normalization_workspace(const BlockedNormalization& n, bool f16, int threads);
void blocked_normalization(Isa isa, const BlockedNormalization& n, void* workspace, KernelContext& c);

// Reorders to channel blocks, with 0 in the lanes beyond the last channel, and back.
void to_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
               KernelContext& c);
void from_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
                 KernelContext& c);
/// Some channels of each group, and their destination: [batch, groups, pixels, count].
struct ChannelSlice {
  int64_t first = 0, count = 0;
  float* y = nullptr;
};
inline constexpr size_t max_channel_slices = 8;
/// Reorders from channel blocks to channels last. `channels`: of a group.
void channels_last(Isa isa, int64_t batch, int64_t groups, int64_t channels, int64_t pixels, const float* x,
                   std::span<const ChannelSlice> slices, KernelContext& c);
/// The same for elements of 16 bits.
void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint16_t* x, uint16_t* y,
                 KernelContext& c);
// The same for bytes, which are exclusive-ored with `sign_xor`.
void to_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t sign_xor,
               uint8_t* y, KernelContext& c);
void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t sign_xor,
                 uint8_t* y, KernelContext& c);

}  // namespace lathe::cpu
