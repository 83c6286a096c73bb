// The shapes of convolutions in channel blocks, from their operators.
#pragma once

#include <algorithm>

#include "cpu/nchw16c/blocked.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// The shape that follows from the operator and its weights [M, C / group, kernel…].
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

/// Adds the sizes that follow from the image, [N, …, in…] in blocks or NCHW.
template <class Windowing>
void fit_image(BlockedShape& s, const Windowing& window, const Shape& x, size_t spatial) {
  s.batch = x[0];
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 2 - spatial + i;
    s.in[at] = x[i + 2];
    const int64_t space = s.in[at] + s.pad[at] + window.pad_end(i) - s.reach(static_cast<int>(at));
    s.out[at] = space < 0 ? 0 : space / s.stride[at] + 1;
  }
}

/// Adds the known or assumed sizes of the output, [N, …, out…] in blocks: batch, height and width. Other
/// sizes are those of a medium-sized image.
inline void fit_likely_output(BlockedShape& s, const KernelQuery& r, size_t spatial) {
  for (size_t a = 2 - spatial; a < 2; ++a) s.out[a] = 56;
  if (r.outputs.empty() || !r.outputs[0].shape || r.outputs[0].shape->size() != spatial + 3) return;
  const SymShape& y = *r.outputs[0].shape;
  const auto take = [&](size_t axis, int64_t& size) {
    constexpr int64_t most = int64_t{1} << 20;  // plans may contain any number
    if (const auto n = r.likely_size(y[axis]); n && *n > 0) size = std::min(*n, most);
  };
  if (!r.strict) take(0, s.batch);
  for (size_t i = 0; i < spatial; ++i) take(i + 2, s.out[2 - spatial + i]);
}

}  // namespace lathe::cpu
