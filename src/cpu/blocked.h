// Convolution and pooling of float32 images whose channels lie in blocks of 16: [N, C / 16, H, W, 16]. Every
// pixel of a block is one or more whole vectors, neighbouring pixels are neighbours in memory, and so windows
// are read in place.
//
// Lanes beyond the last channel hold whatever elementwise operators left there. Sums over channels never read
// them; what works channel by channel leaves them to themselves.
#pragma once

#include <span>

#include "cpu/channel_scaling.h"
#include "cpu/half.h"

namespace lathe::cpu {

inline constexpr int64_t channel_block = 16;
inline int64_t channel_blocks(int64_t channels) { return (channels + channel_block - 1) / channel_block; }

/// A window that slides over images with two spatial axes; a single one is the second, the first is then 1.
struct BlockedShape {
  int64_t batch = 1, channels = 1, filters = 1;
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  int64_t pad[2] = {0, 0};  // in front of each axis
  bool plain = false;       // are the images [N, C, H, W]?
  bool scaled = false;      // is x scaled before it is used (BlockedImages::before)?
  bool gated = false;       // only by factors, so that weights may be instead?
  bool pairs = false;  // of direct convolution: are factors rounded to bfloat16, and multiplied in pairs?
  /// Of direct convolution: image i is multiplied with set i % sets of weights and biases. So the channels of
  /// a grouped convolution are images that follow one another, each of the `merged` groups that fill whole
  /// blocks. What is not finite in one of them stays out of the others, whatever their zeros make of it.
  int64_t sets = 1, merged = 1;
  int64_t group = 0;  // Winograd: floats that go through all of it together; 0: as thought best

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Of one tap: channels, or pairs of them.
  int64_t terms() const { return pairs ? (channels + 1) / 2 : channels; }
  int64_t in_pixels() const { return in[0] * in[1]; }
  int64_t out_pixels() const { return out[0] * out[1]; }
  int64_t reach(int axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t in_blocks() const { return channel_blocks(channels); }
  int64_t out_blocks() const { return channel_blocks(filters); }
  /// Of the output in blocks.
  int64_t out_floats() const { return batch * out_blocks() * out_pixels() * channel_block; }
  bool empty() const { return batch == 0 || filters == 0 || out_pixels() == 0; }
};

/// Do several threads take the output by rows of all blocks instead of block by block? Of an image larger
/// than the weights of most convolutions it goes through, since these do: each thread finds in its cache what
/// it wrote.
inline bool goes_by_rows(const BlockedShape& s) {
  constexpr int64_t image = 400;  // pixels
  return s.batch == 1 && s.out_pixels() >= image;
}

/// What all convolutions here take. Weights are [filters, channels, kernel…] packed by the same algorithm;
/// the output is [batch, filters / 16, out…, 16], and its lanes beyond the last filter come to 0 as long as x
/// is finite. Weights of 16 bits are widened where they are used.
struct BlockedImages {
  const float* x = nullptr;
  const void* weights = nullptr;
  DataType weights_type = DataType::float32;
  const float* bias = nullptr;  // one per filter; null: 0
  float* y = nullptr;
  float* row_means = nullptr;  // of a depthwise convolution, of what y is when it is finished; null: unwanted
  ChannelScaling before = {};  // of a shape that says so, what is done with x; padding stays 0
};

// Sums over all taps of all channels, read in place or from a copy of a few rows, padded and scaled. Gates
// are multiplied with the weights.
int64_t direct_weights_size(Isa isa, const BlockedShape& s);  // of a set
void pack_direct_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// Of all sets, from weights [sets * filters, channels / merged, kernel…].
void pack_grouped_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// With `pairs`: twice as many elements as direct_weights_size() says.
void pack_pair_weights(Isa isa, const BlockedShape& s, const BFloat16* weights, BFloat16* to,
                       Workers& workers);
/// `half`: are the weights floats of 16 bits?
size_t direct_workspace(Isa isa, const BlockedShape& s, bool half, int threads);
/// May y be the tensor that the epilogue adds first? Each element is read before it is written, and not
/// again.
bool direct_adds_over(Isa isa, const BlockedShape& s, DataType weights);
void direct_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                        KernelContext& c);
/// Is the algorithm that is thought to be fastest one that scales its input? Another one and a pass of its
/// own before it are faster than these.
bool pays_to_scale(Isa isa, const BlockedShape& s);
/// Are there fewer weights than pixels to multiply, or are these multiplied while they are packed?
bool pays_to_gate(Isa isa, const BlockedShape& s);

/// Winograd's F(output x output, taps x taps), for kernels of taps x taps that step by one pixel.
struct Filtering {
  int output = 0, taps = 3;
  int size() const { return output + taps - 1; }  // of a tile of the image
  int points() const { return size() * size(); }
  bool operator==(const Filtering&) const = default;
};
inline constexpr Filtering filterings[] = {{2, 3}, {4, 3}, {2, 5}};

bool fits_winograd(const BlockedShape& s, Filtering f);
/// What is thought to be fastest; output 0: direct convolution is.
Filtering fastest_winograd(Isa isa, const BlockedShape& s);
/// Are turned weights thought to be faster, or not much slower where they save much memory?
bool prefers_turned(Isa isa, const BlockedShape& s, Filtering f);
/// Weights at the points are up to four times as many; behind them lie the turned ones, for tiles that are
/// computed directly.
int64_t winograd_weights_size(const BlockedShape& s, Filtering f);
void pack_winograd_weights(Isa isa, const BlockedShape& s, Filtering f, const float* weights, float* to,
                           Workers& workers);
/// Turned, they are as many as they are, and evaluated at the points when they are used: so where there are
/// few tiles, which would wait for more weights from memory, and where weights have 16 bits, since rounding
/// them at the points costs more than it does before. Behind them a line says whether any is too large for
/// sums at the points.
int64_t turned_weights_size(const BlockedShape& s);
void pack_turned_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// `turned`: are the weights? y may be the tensor that the epilogue adds first.
size_t winograd_workspace(Isa isa, const BlockedShape& s, Filtering f, bool turned, int threads);
void winograd_convolution(Isa isa, const BlockedShape& s, Filtering f, bool turned,
                          const BlockedImages& images, void* workspace, KernelContext& c);

// Products of halves (cpu/strassen.h), of windows that never leave the image.
bool fits_strassen(Isa isa, const BlockedShape& s);
/// Is it thought to be faster than the others?
bool prefers_strassen(Isa isa, const BlockedShape& s);
int64_t strassen_weights_size(Isa isa, const BlockedShape& s);
void pack_strassen_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers);
/// Afterwards, of weights as they are kept: float32, or floats of 16 bits.
void mark_strassen_weights(Isa isa, const BlockedShape& s, DataType type, void* packed, Workers& workers);
size_t strassen_workspace(Isa isa, const BlockedShape& s, bool half, int threads);
/// As direct_adds_over().
bool strassen_adds_over(Isa isa, const BlockedShape& s, DataType weights);
void strassen_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                          KernelContext& c);

// One filter for each channel; weights [channels, 1, kernel…].
int64_t depthwise_weights_size(const BlockedShape& s);
void pack_depthwise_weights(const BlockedShape& s, const float* weights, float* to);
size_t depthwise_workspace(const BlockedShape& s, bool half);
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

/// Some pixels of a block: y = (x - mean) * factor + bias within bounds, where each lane has its own.
struct BlockScaling {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t pixels = 0;
  const float *mean = nullptr, *factor = nullptr, *bias = nullptr;
  Bounds bounds = {};
};
void scale_pixels(Isa isa, const BlockScaling& s);

/// Y = (X - mean) / deviation * scale + bias: mean and deviation of each group of neighbouring channels in
/// each image, scale and bias one for each channel. Images may be floats of 16 bits.
struct BlockedNormalization {
  int64_t batch = 1, channels = 1, groups = 1, pixels = 1;
  const void* x = nullptr;
  const float *scale = nullptr, *bias = nullptr;
  void* y = nullptr;
  DataType x_type = DataType::float32, y_type = DataType::float32;
  float epsilon = 0;
};
/// `halves`: may they be of 16 bits?
size_t normalization_workspace(const BlockedNormalization& n, bool halves, int threads);
void blocked_normalization(Isa isa, const BlockedNormalization& n, void* workspace, KernelContext& c);

// To channel blocks, with 0 in the lanes beyond the last channel, and back.
void to_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
               KernelContext& c);
void from_blocks(Isa isa, int64_t batch, int64_t channels, int64_t pixels, const float* x, float* y,
                 KernelContext& c);
/// Some channels of each group, and where they go: [batch, groups, pixels, count].
struct ChannelsPart {
  int64_t first = 0, count = 0;
  float* y = nullptr;
};
inline constexpr size_t most_channels_parts = 8;
/// From channel blocks to where channels are last. `channels`: of a group.
void channels_last(Isa isa, int64_t batch, int64_t groups, int64_t channels, int64_t pixels, const float* x,
                   std::span<const ChannelsPart> parts, KernelContext& c);
/// Of elements of 16 bits.
void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint16_t* x, uint16_t* y,
                 KernelContext& c);
// The same for bytes, which are exclusive-ored with `turned`.
void to_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t turned, uint8_t* y,
               KernelContext& c);
void from_blocks(int64_t batch, int64_t channels, int64_t pixels, const uint8_t* x, uint8_t turned,
                 uint8_t* y, KernelContext& c);

}  // namespace lathe::cpu
