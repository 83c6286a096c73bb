// What convolutions of bytes are cut into, and where they read.
#pragma once

#include <algorithm>

#include "cpu/bytes_conv.h"
#include "cpu/bytes_padding.h"

namespace lathe::cpu {

/// Windows of one pixel that step by one: all rows are one.
inline ByteConvShape flattened(ByteConvShape s) {
  for (int a : {0, 1})
    if (s.kernel[a] != 1 || s.stride[a] != 1 || s.in[a] != s.out[a] || s.pad[a] != 0) return s;
  s.in[1] = s.out[1] = s.in_pixels();
  s.in[0] = s.out[0] = 1;
  return s;
}

/// The blocks of channels that the panels of filters read, as many for each.
struct Band {
  explicit Band(const ByteConvShape& s) : blocks(s.in_blocks()), shape_(s) {
    if (s.groups == 1) return;
    blocks = 1;
    for (int64_t p = 0; p < panels(s.filters); ++p) blocks = std::max(blocks, end(p) - begin(p));
  }
  /// The first of a panel.
  int64_t first(int64_t panel) const {
    return shape_.groups == 1 ? 0 : std::min(begin(panel), shape_.in_blocks() - blocks);
  }
  /// What filters are multiplied with: full blocks, and channels of one that is not.
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
  const ByteConvShape& shape_;
};

/// Bytes of a filter: blocks of channels, taps of each, quads of channels.
inline int64_t terms_of(const ByteConvShape& s) {
  const Band band(s);
  return s.taps() * (band.full() * channel_block + quads(band.rest()) * quad);
}

/// Bytes of the copy of a block that is multiplied; 0 where the image is read where it lies.
inline int64_t copied_plane(const ByteTiles& t, const ByteConvShape& s) {
  return within(s) && t.parts == 1 ? 0 : padded_plane(s) * t.parts;
}

/// Steps of a tile, by block and tap, over planes of so many pixels of so many bytes.
inline int64_t step_count(const BlockedShape& s) { return s.in_blocks() * s.taps(); }
inline void fill_steps(const BlockedShape& s, int64_t row_pixels, int64_t rows, int64_t pixel, int64_t* to) {
  for (int64_t block = 0; block < s.in_blocks(); ++block)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        *to++ = ((block * rows + i * s.dilation[0]) * row_pixels + j * s.dilation[1]) * pixel;
}

/// One image, read where it lies or from its padded copy.
struct ByteImage {
  const uint8_t* x;
  int64_t row, plane;  // bytes
  const int64_t* steps;
  const uint8_t* other;
  uint8_t* y;
};

/// Gathers the pixels of tiles and multiplies them with all panels of a task, for tables that gather.
bool is_gathered(const ByteTiles& t, const ByteConvShape& s);
/// Bytes of scratch for so many threads, 64-byte aligned.
int64_t gather_workspace(const ByteTiles& t, const ByteConvShape& s, int threads);
/// One image; `scratch` is of gather_workspace().
void convolve_gathered(const ByteTiles& t, const ByteConvShape& s, const ByteImages& images,
                       const ByteImage& image, uint8_t* scratch, KernelContext& c);

}  // namespace lathe::cpu
