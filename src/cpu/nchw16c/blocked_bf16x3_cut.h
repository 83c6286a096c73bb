// How a convolution in bf16x3 is divided, and the layout of its copies.
//
// The copy of a strip is sorted by the remainders of pixel positions divided by the strides, so that all
// windows have a stride of one: a tap is a constant distance, the pixels of a tile are contiguous, and tiles
// continue from row to row, across a few pixels that are computed but not stored.
//
// NCHW images of few channels are copied pixel by pixel: 64 bytes hold eight neighboring pixels, and the rows
// of a tile overlap. So a step is a row of the window.
#pragma once

#include <algorithm>
#include <numeric>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/simd/amx.h"

namespace lathe::cpu {

/// In NCHW images a step is eight pixels of a row in four channels.
inline constexpr int64_t nchw_pixels = 8, nchw_channels = 4, nchw_pixel = 2 * nchw_channels;

/// One axis of a window over such a copy.
struct Phases {
  Phases(const BlockedShape& s, int axis)
      : step(s.stride[axis]),
        dilation(s.dilation[axis]),
        pad(s.pad[axis]),
        in(s.in[axis]),
        period(step / std::gcd(dilation, step)),
        count(std::min(s.kernel[axis], period)),
        further((s.kernel[axis] - 1) * dilation / step) {}
  int64_t phase(int64_t tap) const { return tap % period; }
  int64_t offset(int64_t tap) const { return tap * dilation / step; }

  /// The places of a phase that are inside the image, and the position of the first of them there.
  struct Inside {
    int64_t begin, end, at;
    int64_t size() const { return end - begin; }
  };
  /// The places inside the image among `places` places that begin with that of output `first`.
  Inside inside(int64_t phase, int64_t first, int64_t places) const {
    const auto steps = [&](int64_t n) { return std::clamp<int64_t>((n + step - 1) / step, 0, places); };
    const int64_t at = first * step + phase * dilation % step - pad;
    const int64_t begin = at < 0 ? steps(-at) : 0, end = at < in ? steps(in - at) : 0;
    return {begin, std::max(begin, end), at + begin * step};
  }

  int64_t step, dilation, pad, in, period;
  int64_t count;    // of different remainders of the taps
  int64_t further;  // places of a phase from the first tap to the last
};

/// Divides the work into strips of output rows (of columns, if a row is too long), groups of panels, and
/// pieces of the channels: pairs of blocks whose weights stay in the second-level cache.
struct Bf16x3Division {
  Bf16x3Division(const BlockedShape& shape, int threads)
      : s(shape),
        y(s, 0),
        x(s, 1),
        planes(y.count * (s.nchw ? 1 : x.count)),
        pairs(s.nchw ? 1 : ceil_of(s.in_blocks(), 2)),
        taps(s.nchw ? s.kernel[0] : s.taps()),
        panels(ceil_of(s.out_blocks(), bf16x3_panel_blocks)),
        columns(s.out[1]),
        group(panels) {
    if (s.nchw) x.count = 1, x.further = ceil_of(nchw_pixels, s.stride[1]) - 1;
    const double pixel = static_cast<double>(pairs * planes * part_count * pixel_size());
    const double row = pixel * static_cast<double>(columns + x.further);
    const double fit = strip_bytes / row - static_cast<double>(y.further);
    rows = even(s.out[0], std::clamp<int64_t>(static_cast<int64_t>(fit), 1, s.out[0]));
    if (fit < 1) {
      const double across = strip_bytes / (pixel * static_cast<double>(1 + y.further));
      columns = even(s.out[1], std::max<int64_t>(min_columns, static_cast<int64_t>(std::min(across, 1e9))));
    }
    piece = even(pairs, std::max<int64_t>(1, piece_steps / taps));
    share(threads);
    copy_rows = rows + y.further, copy_row = columns + x.further;
  }
  Bf16x3Division(const Bf16x3Division&) = delete;

  static int64_t whole_lines(int64_t bytes) { return ceil_of(bytes, 64) * 64; }

  int64_t across() const { return ceil_of(s.out[1], columns); }
  int64_t strips() const { return ceil_of(s.out[0], rows) * across(); }
  int64_t groups() const { return ceil_of(panels, group); }
  int64_t tasks() const { return s.batch * strips() * groups(); }
  int64_t pieces() const { return ceil_of(pairs, piece); }
  int64_t tiles() const { return ceil_of((rows - 1) * copy_row + columns, max_tiled_rows); }

  // Sizes of two blocks of a strip (in pixels and in bytes), of the strip, of a piece of a panel, and of
  // sums.
  int64_t copy_pixels() const { return planes * copy_rows * copy_row; }
  int64_t pixel_size() const { return s.nchw ? s.stride[1] * nchw_pixel : part_pixel; }
  int64_t pair_size() const {
    return s.nchw ? part_count * part() : copy_pixels() * part_count * pixel_size();
  }
  /// The bytes from pixel to pixel in the copy, and from part to part. Parts of a NCHW image are separate
  /// arrays, and the last pixel is read with the bytes behind it.
  int64_t row() const { return s.nchw ? pixel_size() : bf16x3_pixel; }
  int64_t part() const {
    return s.nchw ? whole_lines(copy_pixels() * pixel_size() + part_pixel) : part_pixel;
  }
  int64_t strip_size() const { return pairs * pair_size(); }
  int64_t piece_size() const { return piece * taps * part_weights; }
  static constexpr int64_t tile_sums = max_tiled_rows * bf16x3_panel_filters;  // floats
  /// The sums of all tiles if pieces are added to them, otherwise of the tile that is computed and the one
  /// that is stored.
  int64_t sums_size() const {
    return (pieces() > 1 ? tiles() : 2) * tile_sums * static_cast<int64_t>(sizeof(float));
  }
  /// The flags of pixels in the copy, and in the output.
  int64_t flags_size() const { return whole_lines(copy_pixels()) + whole_lines(rows * columns); }
  /// A panel of 16-bit weights, widened to float32.
  int64_t floats_size() const {
    return s.channels * s.taps() * bf16x3_panel_filters * static_cast<int64_t>(sizeof(float));
  }
  int64_t steps_size() const { return whole_lines(piece * taps * static_cast<int64_t>(sizeof(int64_t))); }
  int64_t slot(bool f16) const {
    return strip_size() + 2 * piece_size() + sums_size() + flags_size() + (f16 ? floats_size() : 0);
  }

  /// The distance in pixels from the first tap to another one.
  int64_t distance(int64_t i, int64_t j) const {
    return ((y.phase(i) * x.count + x.phase(j)) * copy_rows + y.offset(i)) * copy_row + x.offset(j);
  }
  /// Writes the bytes from the first step of a piece to each step.
  void fill(int64_t* offsets) const {
    for (int64_t pair = 0; pair < piece; ++pair)
      for (int64_t i = 0; i < s.kernel[0]; ++i)
        for (int64_t j = 0; j < taps / s.kernel[0]; ++j)
          *offsets++ = pair * pair_size() + distance(i, j) * row();
  }

  const BlockedShape& s;
  Phases y, x;
  int64_t planes, pairs;
  int64_t taps;  // taps that are steps of their own
  int64_t panels;
  int64_t rows = 1, columns;            // of a strip
  int64_t group;                        // panels that a task computes
  int64_t piece = 1;                    // pairs of blocks
  int64_t copy_rows = 0, copy_row = 0;  // rows of a phase in the copy, and pixels of such a row

 private:
  /// The bytes of input parts that are processed at once: they stay in the second-level cache beside weights.
  static constexpr double strip_bytes = 1 << 20;
  static constexpr int64_t piece_steps = 18, min_columns = 64;
  /// Multiplications below which another task is not worth it.
  static constexpr double min_parallel_work = 1 << 19;

  static int64_t even(int64_t all, int64_t each) { return ceil_of(all, ceil_of(all, each)); }

  /// Gives every thread some tasks. Every strip splits the weights again, every group of panels the input:
  /// the cheaper one is divided, as long as this does not cost much of what it saves.
  void share(int threads) {
    if (threads == 1) return;
    constexpr int64_t min_pixels = 256, min_panels = 8;
    constexpr double split_pixel = 8, split_weights = 115;  // nanoseconds, of two blocks
    const double steps = static_cast<double>(taps * panels);
    const double wanted = std::min(4.0 * threads, static_cast<double>(s.batch * s.out_pixels()) * steps *
                                                      static_cast<double>(s.channels * bf16x3_panel_filters) /
                                                      min_parallel_work);
    while (static_cast<double>(tasks()) < wanted) {
      const bool few = tasks() < threads;
      const bool strip = rows > 1 ? few || rows / 2 * columns >= min_pixels
                                  : columns > min_columns && (few || columns / 2 >= min_pixels);
      const bool panel = group > 1 && (few || group / 2 * taps >= min_panels);
      const double by_strips = steps * split_weights,
                   by_groups = static_cast<double>(groups() * rows * columns * planes) * split_pixel;
      if (strip && (by_strips < by_groups || !panel))
        (rows > 1 ? rows : columns) = ceil_of(rows > 1 ? rows : columns, 2);
      else if (panel)
        group = ceil_of(group, 2);
      else
        break;
    }
  }
};

}  // namespace lathe::cpu
