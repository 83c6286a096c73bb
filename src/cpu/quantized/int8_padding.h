// Images of bytes in channel blocks with padding.
#pragma once

#include <algorithm>

#include "cpu/quantized/int8_tile.h"
#include "lathe/dim.h"

namespace lathe::cpu {

inline int64_t whole_lines(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

/// Returns whether all windows are within the image.
inline bool within(const BlockedShape& s) {
  bool in = true;
  for (int a : {0, 1}) in = in && s.pad[a] == 0 && (s.out[a] - 1) * s.stride[a] + s.reach(a) <= s.in[a];
  return in;
}

/// The length along an axis that all windows cover, padding included.
inline int64_t padded(const BlockedShape& s, int axis) {
  return (s.out[axis] - 1) * s.stride[axis] + s.reach(axis);
}
inline int64_t padded_plane(const BlockedShape& s) { return padded(s, 0) * padded(s, 1) * channel_block; }

/// Copies pixels, unpacked if the kernels require it.
struct PixelCopies {
  const Int8Tiles* unpacked_by = nullptr;  // null: as they are
  int64_t bytes() const { return channel_block * (unpacked_by ? unpacked_by->parts : 1); }
  uint8_t* copy(const uint8_t* x, int64_t pixels, uint8_t* to) const {
    if (!unpacked_by) return std::copy_n(x, pixels * channel_block, to);
    unpacked_by->unpack(x, pixels * channel_block, to);
    return to + pixels * bytes();
  }
  uint8_t* fill(uint8_t byte, int64_t pixels, uint8_t* to) const {
    if (!unpacked_by) return std::fill_n(to, pixels * channel_block, byte);
    uint8_t pixel[channel_block];
    std::fill_n(pixel, channel_block, byte);
    for (int64_t i = 0; i < pixels; ++i) to = copy(pixel, 1, to);
    return to;
  }
};

/// Copies one block of an image with padding around it: rows [row0, row1) of the padded image.
inline void pad_rows(const BlockedShape& s, const PixelCopies& pixels, const uint8_t* x, uint8_t zero,
                     int64_t row0, int64_t row1, uint8_t* to) {
  const int64_t width = padded(s, 1), left = std::min(s.pad[1], width),
                middle = std::clamp<int64_t>(s.in[1], 0, width - left), right = width - left - middle;
  to += row0 * width * pixels.bytes();
  for (int64_t i = row0; i < row1; ++i) {
    const int64_t y = i - s.pad[0];
    if (y < 0 || y >= s.in[0]) {
      to = pixels.fill(zero, width, to);
      continue;
    }
    to = pixels.fill(zero, left, to);
    to = pixels.copy(x + y * s.in[1] * channel_block, middle, to);
    to = pixels.fill(zero, right, to);
  }
}

}  // namespace lathe::cpu
