// Convolution of bytes in channel blocks, [N, C / 16, H, W, 16], from bytes to bytes. Images are unsigned;
// lanes beyond the last channel may have any contents.
#pragma once

#include "cpu/quantized/int8_gemm.h"

namespace lathe::cpu {

/// The operands of a run. Vectors cover whole panels (multiples of panel_filters), as packed weights do.
struct Int8Images {
  const uint8_t* x = nullptr;
  uint8_t x_zero = 0;  // also the value of the padding
  const int8_t* weights = nullptr;
  const int32_t* start = nullptr;  // the start of each filter's sum
  RequantParams requant = {};      // with factor and shift of all filters
  const uint8_t* other = nullptr;  // added in requantization; laid out as y
  uint8_t* y = nullptr;
};

struct Int8ConvShape : BlockedShape {
  int64_t groups = 1;
};

// Sums over all channels of a group: weights [filters, channels / groups, kernel…] of eight bits.
// `shape.nchw` is false. In groups, a panel of filters is multiplied with all blocks that hold channels of
// its groups, and weights are 0 where a channel is of another group: sums are the same.
int64_t int8_conv_weights_size(const Int8ConvShape& s);
void pack_int8_conv(const Int8ConvShape& s, const void* weights, bool is_signed, int8_t* to,
                    Workers& workers);
/// The sum of the packed weights of each filter.
const int32_t* int8_conv_sums(const Int8ConvShape& s, const int8_t* packed);
size_t int8_conv_workspace(Isa isa, const Int8ConvShape& s, int threads);
void int8_convolution(Isa isa, const Int8ConvShape& s, const Int8Images& images, void* workspace,
                      KernelContext& c);

// One filter for each channel: weights [channels, 1, kernel…], packed as [channels / 16][quads][16][4], a
// quad being neighboring taps, followed by the sum of each channel as int32, in lanes of whole panels.
int64_t int8_depthwise_weights_size(const BlockedShape& s);
void pack_int8_depthwise(const BlockedShape& s, const void* weights, bool is_signed, int8_t* to);
const int32_t* int8_depthwise_sums(const BlockedShape& s, const int8_t* packed);
size_t int8_depthwise_workspace(const BlockedShape& s);
void int8_depthwise(Isa isa, const BlockedShape& s, const Int8Images& images, void* workspace,
                    KernelContext& c);

/// The maximum of each window, channel by channel.
void int8_maximum(const BlockedShape& s, const uint8_t* x, uint8_t* y, KernelContext& c);

/// The mean over the pixels of each window: those of the image, or also those of its padding, `pad_end` of
/// which follow it.
struct Int8Mean {
  float scale = 1;  // the scale of x divided by that of y
  int32_t x_zero = 0, y_zero = 0;
  bool counts_padding = false;
  int64_t pad_end[2] = {0, 0};
};
void int8_average(Isa isa, const BlockedShape& s, const Int8Mean& how, const uint8_t* x, uint8_t* y,
                  KernelContext& c);

}  // namespace lathe::cpu
