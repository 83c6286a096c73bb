// The shapes that convolutions in channel blocks work with, from their operators.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// What the operator and the shape of its weights [M, C / group, kernel…] say.
template <class Op>
BlockedShape blocked_window(const Op& op, const Shape& w) {
  BlockedShape s{.channels = op.channels, .filters = w[0]};
  const size_t spatial = w.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 2 - spatial + i;
    s.kernel[at] = w[i + 2];
    s.stride[at] = op.window.stride(i);
    s.dilation[at] = op.window.dilation(i);
    s.pad[at] = op.window.pad_begin(i);
  }
  return s;
}

/// And what follows from the image, [N, …, in…] in blocks or plain.
template <class Windowing>
void fit_image(BlockedShape& s, const Windowing& window, const Shape& x, size_t spatial) {
  s.batch = x[0];
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 2 - spatial + i;
    s.in[at] = x[i + 2];
    const int64_t room = s.in[at] + s.pad[at] + window.pad_end(i) - s.reach(static_cast<int>(at));
    s.out[at] = room < 0 ? 0 : room / s.stride[at] + 1;
  }
}

}  // namespace lathe::cpu
