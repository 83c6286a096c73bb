// The division of convolutions of bytes, and the addresses that they read.
#pragma once

#include <algorithm>

#include "cpu/quantized/int8_conv.h"
#include "cpu/quantized/int8_padding.h"

namespace lathe::cpu {

/// Joins all rows into one if windows have one pixel and step by one.
inline Int8ConvShape flattened(Int8ConvShape s) {
  for (int a : {0, 1})
    if (s.kernel[a] != 1 || s.stride[a] != 1 || s.in[a] != s.out[a] || s.pad[a] != 0) return s;
  s.in[1] = s.out[1] = s.in_pixels();
  s.in[0] = s.out[0] = 1;
  return s;
}

/// The blocks of channels that each panel of filters reads; their number is the same for all panels.
struct Band {
  explicit Band(const Int8ConvShape& s) : blocks(s.in_blocks()), shape_(s) {
    if (s.groups == 1) return;
    blocks = 1;
    for (int64_t p = 0; p < panels(s.filters); ++p) blocks = std::max(blocks, end(p) - begin(p));
  }
  /// The first block of a panel.
  int64_t first(int64_t panel) const {
    return shape_.groups == 1 ? 0 : std::min(begin(panel), shape_.in_blocks() - blocks);
  }
  /// The full blocks that filters are multiplied with, and the channels of a partial one.
  int64_t full() const { return shape_.groups == 1 ? shape_.channels / channel_block : blocks; }
  int64_t rest() const { return shape_.groups == 1 ? shape_.channels % channel_block : 0; }

  int64_t blocks;

 private:
  int64_t group_of(int64_t filter) const {
    return std::min(filter, shape_.filters - 1) / (shape_.filters / shape_.groups);
  }
  int64_t begin(int64_t panel) const {
    return group_of(panel * panel_filters) * (shape_.channels / shape_.groups) / channel_block;
  }
  int64_t end(int64_t panel) const {
    return channel_blocks((group_of((panel + 1) * panel_filters - 1) + 1) *
                          (shape_.channels / shape_.groups));
  }
  const Int8ConvShape& shape_;
};

/// The length of k, in bytes of a filter: blocks of channels, taps of each, quads of channels.
inline int64_t terms_of(const Int8ConvShape& s) {
  const Band band(s);
  return s.taps() * (band.full() * channel_block + quads(band.rest()) * quad);
}

/// The bytes of the padded or unpacked copy of a block; 0 if the image is read in place.
inline int64_t copied_plane(const Int8Tiles& t, const Int8ConvShape& s) {
  return within(s) && t.parts == 1 ? 0 : padded_plane(s) * t.parts;
}

/// The steps of a tile, by block and tap: offsets in planes of `rows` rows of `row_pixels` pixels of `pixel`
/// bytes.
inline int64_t step_count(const BlockedShape& s) { return s.in_blocks() * s.taps(); }
inline void fill_steps(const BlockedShape& s, int64_t row_pixels, int64_t rows, int64_t pixel, int64_t* to) {
  for (int64_t block = 0; block < s.in_blocks(); ++block)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        *to++ = ((block * rows + i * s.dilation[0]) * row_pixels + j * s.dilation[1]) * pixel;
}

/// One image, read in place or from its padded copy.
struct Int8Image {
  const uint8_t* x;
  int64_t row, plane;  // bytes
  const int64_t* steps;
  const uint8_t* other;
  uint8_t* y;
};

/// Returns whether the pixels of tiles are gathered before they are multiplied, which requires kernels that
/// gather.
bool is_gathered(const Int8Tiles& t, const Int8ConvShape& s);
/// The bytes of scratch for this many threads, 64-byte aligned.
int64_t gather_workspace(const Int8Tiles& t, const Int8ConvShape& s, int threads);
/// Convolves one image; `scratch` has gather_workspace() bytes.
void convolve_gathered(const Int8Tiles& t, const Int8ConvShape& s, const Int8Images& images,
                       const Int8Image& image, uint8_t* scratch, KernelContext& c);

}  // namespace lathe::cpu
