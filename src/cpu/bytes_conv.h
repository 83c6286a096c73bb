// Convolution of bytes in channel blocks, [N, C / 16, H, W, 16], from bytes to bytes. Images are unsigned;
// lanes beyond the last channel may hold anything.
#pragma once

#include "cpu/bytes_gemm.h"

namespace lathe::cpu {

/// What a run is given. Vectors are of whole panels, as packed weights are.
struct ByteImages {
  const uint8_t* x = nullptr;
  uint8_t x_zero = 0;  // also what surrounds the image
  const int8_t* weights = nullptr;
  const int32_t* start = nullptr;  // what the sum of each filter begins with
  ByteGrid grid = {};              // factor and shift of all filters
  const uint8_t* other = nullptr;  // where the grid adds: lies as y does
  uint8_t* y = nullptr;
};

struct ByteConvShape : BlockedShape {
  int64_t groups = 1;
};

// Sums over all channels of a group: weights [filters, channels / groups, kernel…] of eight bits.
// `shape.plain` is false. In groups, a panel of filters is multiplied with all blocks that hold channels of
// its groups, and weights are 0 where a channel is of another group: sums are the same.
int64_t byte_conv_weights_size(const ByteConvShape& s);
void pack_byte_conv(const ByteConvShape& s, const void* weights, bool is_signed, int8_t* to,
                    Workers& workers);
/// The sums of each filter's packed weights.
const int32_t* byte_conv_sums(const ByteConvShape& s, const int8_t* packed);
size_t byte_conv_workspace(Isa isa, const ByteConvShape& s, int threads);
void byte_convolution(Isa isa, const ByteConvShape& s, const ByteImages& images, void* workspace,
                      KernelContext& c);

// One filter for each channel: weights [channels, 1, kernel…], packed as [channels / 16][quads][16][4], a
// quad being neighbouring taps, with the sums of each channel behind them as int32, in lanes of whole panels.
int64_t byte_depthwise_weights_size(const BlockedShape& s);
void pack_byte_depthwise(const BlockedShape& s, const void* weights, bool is_signed, int8_t* to);
const int32_t* byte_depthwise_sums(const BlockedShape& s, const int8_t* packed);
size_t byte_depthwise_workspace(const BlockedShape& s);
void byte_depthwise(Isa isa, const BlockedShape& s, const ByteImages& images, void* workspace,
                    KernelContext& c);

/// The largest of each window, channel by channel.
void byte_maximum(const BlockedShape& s, const uint8_t* x, uint8_t* y, KernelContext& c);

/// A mean over the pixels of each window: those of the image, or with its padding, of `pad_end` behind it.
struct ByteMean {
  float scale = 1;  // of x over that of y
  int32_t x_zero = 0, y_zero = 0;
  bool counts_padding = false;
  int64_t pad_end[2] = {0, 0};
};
void byte_average(Isa isa, const BlockedShape& s, const ByteMean& how, const uint8_t* x, uint8_t* y,
                  KernelContext& c);

}  // namespace lathe::cpu
