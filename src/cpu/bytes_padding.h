// Images of bytes in channel blocks with what lies around them.
#pragma once

#include <algorithm>

#include "cpu/blocked.h"
#include "lathe/dim.h"

namespace lathe::cpu {

inline int64_t whole_lines(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

/// Does no window leave the image?
inline bool within(const BlockedShape& s) {
  bool in = true;
  for (int a : {0, 1}) in = in && s.pad[a] == 0 && (s.out[a] - 1) * s.stride[a] + s.reach(a) <= s.in[a];
  return in;
}

/// What the windows reach.
inline int64_t padded(const BlockedShape& s, int axis) {
  return (s.out[axis] - 1) * s.stride[axis] + s.reach(axis);
}
inline int64_t padded_plane(const BlockedShape& s) {
  return within(s) ? 0 : padded(s, 0) * padded(s, 1) * channel_block;
}

/// Copies one block of an image into the middle of what its windows reach: rows [row0, row1) of that.
inline void pad_rows(const BlockedShape& s, const uint8_t* x, uint8_t zero, int64_t row0, int64_t row1,
                     uint8_t* to) {
  const int64_t width = padded(s, 1), left = std::min(s.pad[1], width),
                middle = std::clamp<int64_t>(s.in[1], 0, width - left), right = width - left - middle;
  to += row0 * width * channel_block;
  for (int64_t i = row0; i < row1; ++i, to += width * channel_block) {
    const int64_t y = i - s.pad[0];
    if (y < 0 || y >= s.in[0]) {
      std::fill_n(to, width * channel_block, zero);
      continue;
    }
    std::fill_n(to, left * channel_block, zero);
    std::copy_n(x + y * s.in[1] * channel_block, middle * channel_block, to + left * channel_block);
    std::fill_n(to + (left + middle) * channel_block, right * channel_block, zero);
  }
}

}  // namespace lathe::cpu
