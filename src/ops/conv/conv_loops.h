// Convolution as obvious loops, for the references of Conv and its integer kin. The innermost loop runs along
// a row of the output, which is contiguous.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/compute.h"
#include "ops/movement.h"
#include "ops/window.h"

namespace lathe {

/// Sizes of X [batch, channels, in…], W [filters, channels / group, kernel…] and the spatial axes between
/// them.
struct ConvSizes {
  int64_t batch, channels, filters, group;
  WindowAxes axes;
  int64_t in_plane = 1, out_plane = 1, kernel_plane = 1;
  ConvSizes(const Shape& x, const Shape& w, int64_t groups, WindowAxes spatial)
      : batch(x[0]), channels(x[1]), filters(w[0]), group(groups), axes(std::move(spatial)) {
    for (const WindowAxis& a : axes) {
      in_plane *= a.in;
      out_plane *= a.out;
      kernel_plane *= a.kernel;
    }
  }
};

/// Adds weight * x to the sums of a row of the output, for one kernel position along the last axis.
template <class T, class A>
void convolve_row(const WindowAxis& axis, int64_t k, const T* x, A weight, A* sums, Poller& poll) {
  const int64_t shift = k * axis.dilation - axis.pad_begin;
  const int64_t first = shift >= 0 ? 0 : ceil_div(-shift, axis.stride);
  const int64_t end = axis.in > shift ? std::min(axis.out, ceil_div(axis.in - shift, axis.stride)) : 0;
  poll.did(1);
  poll.pieces(std::max<int64_t>(0, end - first), 1, [&](int64_t from, int64_t to) {
    if (axis.stride == 1)
      for (int64_t o = first + from; o < first + to; ++o) sums[o] += weight * static_cast<A>(x[o + shift]);
    else
      for (int64_t o = first + from; o < first + to; ++o)
        sums[o] += weight * static_cast<A>(x[o * axis.stride + shift]);
  });
}

/// Calls store(image, filter, offset in the output plane, sums, count) for every row of the output.
template <class A, class T, class Store>
void convolve(const ConvSizes& s, const T* x, const T* w, KernelContext& c, Store&& store) {
  const WindowAxis& last = s.axes.back();
  const size_t outer = s.axes.size() - 1;
  const int64_t per_group = s.channels / s.group, filters_per_group = s.filters / s.group;
  int64_t outer_kernel = 1;
  for (size_t i = 0; i < outer; ++i) outer_kernel *= s.axes[i].kernel;
  if (s.out_plane == 0) return;
  const int64_t rows = s.out_plane / last.out;
  c.parallel(s.batch * s.filters, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    std::pmr::vector<A> sums(static_cast<size_t>(last.out), c.scratch());
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = piece / s.filters, filter = piece % s.filters;
      const T* data = x + (image * s.channels + filter / filters_per_group * per_group) * s.in_plane;
      const T* weights = w + filter * per_group * s.kernel_plane;
      for (int64_t row = 0; row < rows; ++row) {
        std::fill(sums.begin(), sums.end(), A{});
        poll.did(last.out);
        for (int64_t outside = 0; outside < outer_kernel; ++outside) {
          // The row of the input at this row of the kernel, unless it is padding.
          poll.did(1);
          int64_t from = 0, o = row, k = outside, stride = last.in;
          bool inside = true;
          for (size_t i = outer; i-- > 0 && inside;) {
            const WindowAxis& axis = s.axes[i];
            const int64_t position = axis.start(o % axis.out) + k % axis.kernel * axis.dilation;
            inside = position >= 0 && position < axis.in;
            from += position * stride;
            stride *= axis.in;
            o /= axis.out;
            k /= axis.kernel;
          }
          if (!inside) continue;
          for (int64_t channel = 0; channel < per_group; ++channel) {
            const T* kernel = weights + channel * s.kernel_plane + outside * last.kernel;
            for (int64_t j = 0; j < last.kernel; ++j) {
              convolve_row(last, j, data + channel * s.in_plane + from, static_cast<A>(kernel[j]),
                           sums.data(), poll);
            }
          }
        }
        store(image, filter, row * last.out, sums.data(), last.out);
      }
    }
  });
}

}  // namespace lathe
