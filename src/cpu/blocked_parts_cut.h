// How a convolution by parts is cut, and where what it copies lies.
//
// In the copy of a strip pixels lie by what remains of their places when these are divided by the strides, so
// that every window steps by one: a tap is a distance, the pixels of a tile follow one another, and tiles run
// on from row to row, over a few pixels that are computed and not kept.
//
// Plain images of a few channels lie pixel by pixel: what 64 bytes hold are eight neighbouring pixels, and
// the rows of a tile overlap. So a step is a row of the window.
#pragma once

#include <algorithm>
#include <numeric>

#include "cpu/amx.h"
#include "cpu/blocked_parts.h"
#include "cpu/ceil_of.h"

namespace lathe::cpu {

/// Of plain images a step is eight pixels of a row in four channels.
inline constexpr int64_t plain_pixels = 8, plain_channels = 4, plain_pixel = 2 * plain_channels;

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

  /// Of a phase's places those that lie in the image, and where the first one does.
  struct Inside {
    int64_t begin, end, at;
    int64_t size() const { return end - begin; }
  };
  /// Of so many places, the first of which is that of output `first`.
  Inside inside(int64_t phase, int64_t first, int64_t places) const {
    const auto steps = [&](int64_t n) { return std::clamp<int64_t>((n + step - 1) / step, 0, places); };
    const int64_t at = first * step + phase * dilation % step - pad;
    const int64_t begin = at < 0 ? steps(-at) : 0, end = at < in ? steps(in - at) : 0;
    return {begin, std::max(begin, end), at + begin * step};
  }

  int64_t step, dilation, pad, in, period;
  int64_t count;    // of remainders that taps have
  int64_t further;  // places of a phase that the last tap is away from the first
};

/// Strips of output rows (of columns, where a row is too long), groups of panels, and pieces of the channels:
/// pairs of blocks whose weights stay in the second-level cache.
struct PartsDivision {
  PartsDivision(const BlockedShape& shape, int threads)
      : s(shape),
        y(s, 0),
        x(s, 1),
        planes(y.count * (s.plain ? 1 : x.count)),
        pairs(s.plain ? 1 : ceil_of(s.in_blocks(), 2)),
        taps(s.plain ? s.kernel[0] : s.taps()),
        panels(ceil_of(s.out_blocks(), parts_panel_blocks)),
        columns(s.out[1]),
        group(panels) {
    if (s.plain) x.count = 1, x.further = ceil_of(plain_pixels, s.stride[1]) - 1;
    const double pixel = static_cast<double>(pairs * planes * part_count * pixel_size());
    const double row = pixel * static_cast<double>(columns + x.further);
    const double fit = strip_bytes / row - static_cast<double>(y.further);
    rows = even(s.out[0], std::clamp<int64_t>(static_cast<int64_t>(fit), 1, s.out[0]));
    if (fit < 1) {
      const double across = strip_bytes / (pixel * static_cast<double>(1 + y.further));
      columns = even(s.out[1], std::max<int64_t>(least_columns, static_cast<int64_t>(std::min(across, 1e9))));
    }
    piece = even(pairs, std::max<int64_t>(1, piece_steps / taps));
    share(threads);
    copy_rows = rows + y.further, copy_row = columns + x.further;
  }
  PartsDivision(const PartsDivision&) = delete;

  static int64_t whole_lines(int64_t bytes) { return ceil_of(bytes, 64) * 64; }

  int64_t across() const { return ceil_of(s.out[1], columns); }
  int64_t strips() const { return ceil_of(s.out[0], rows) * across(); }
  int64_t groups() const { return ceil_of(panels, group); }
  int64_t tasks() const { return s.batch * strips() * groups(); }
  int64_t pieces() const { return ceil_of(pairs, piece); }
  int64_t tiles() const { return ceil_of((rows - 1) * copy_row + columns, most_tiled_rows); }

  // Bytes: of two blocks of a strip, of the strip, of a piece of a panel, of sums.
  int64_t copy_pixels() const { return planes * copy_rows * copy_row; }
  int64_t pixel_size() const { return s.plain ? s.stride[1] * plain_pixel : part_pixel; }
  int64_t pair_size() const {
    return s.plain ? part_count * part() : copy_pixels() * part_count * pixel_size();
  }
  /// From pixel to pixel in the copy, and from part to part: those of a plain image lie apart, and the last
  /// pixel is read with what follows it.
  int64_t row() const { return s.plain ? pixel_size() : parts_pixel; }
  int64_t part() const {
    return s.plain ? whole_lines(copy_pixels() * pixel_size() + part_pixel) : part_pixel;
  }
  int64_t strip_size() const { return pairs * pair_size(); }
  int64_t piece_size() const { return piece * taps * part_weights; }
  static constexpr int64_t tile_sums = most_tiled_rows * parts_panel_filters;  // floats
  /// Of all tiles, where pieces are added to them, or of the one that is computed and the one that is stored.
  int64_t sums_size() const {
    return (pieces() > 1 ? tiles() : 2) * tile_sums * static_cast<int64_t>(sizeof(float));
  }
  /// Of pixels in the copy, and in the output, that have no parts.
  int64_t flags_size() const { return whole_lines(copy_pixels()) + whole_lines(rows * columns); }
  /// Of a panel of weights of 16 bits, made float32.
  int64_t floats_size() const {
    return s.channels * s.taps() * parts_panel_filters * static_cast<int64_t>(sizeof(float));
  }
  int64_t steps_size() const { return whole_lines(piece * taps * static_cast<int64_t>(sizeof(int64_t))); }
  int64_t slot(bool half) const {
    return strip_size() + 2 * piece_size() + sums_size() + flags_size() + (half ? floats_size() : 0);
  }

  /// Pixels from the first tap's to those of another one.
  int64_t distance(int64_t i, int64_t j) const {
    return ((y.phase(i) * x.count + x.phase(j)) * copy_rows + y.offset(i)) * copy_row + x.offset(j);
  }
  /// Bytes from the first step of a piece to the others.
  void fill(int64_t* offsets) const {
    for (int64_t pair = 0; pair < piece; ++pair)
      for (int64_t i = 0; i < s.kernel[0]; ++i)
        for (int64_t j = 0; j < taps / s.kernel[0]; ++j)
          *offsets++ = pair * pair_size() + distance(i, j) * row();
  }

  const BlockedShape& s;
  Phases y, x;
  int64_t planes, pairs;
  int64_t taps;  // that are steps of their own
  int64_t panels;
  int64_t rows = 1, columns;            // of a strip
  int64_t group;                        // panels that a task computes
  int64_t piece = 1;                    // pairs of blocks
  int64_t copy_rows = 0, copy_row = 0;  // rows of a phase in the copy, and pixels of such a row

 private:
  /// Bytes of parts of input that are worked on at once: they stay in the second-level cache beside weights.
  static constexpr double strip_bytes = 1 << 20;
  static constexpr int64_t piece_steps = 18, least_columns = 64;
  /// Multiplications below which another task is not worth it.
  static constexpr double least_work = 1 << 19;

  static int64_t even(int64_t all, int64_t each) { return ceil_of(all, ceil_of(all, each)); }

  /// Gives every thread some tasks. Every strip splits the weights again, every group of panels the input:
  /// what costs less is cut, as long as it does not take much of what it saves.
  void share(int threads) {
    if (threads == 1) return;
    constexpr int64_t fewest_pixels = 256, fewest_panels = 8;
    constexpr double split_pixel = 8, split_weights = 115;  // nanoseconds, of two blocks
    const double steps = static_cast<double>(taps * panels);
    const double wanted =
        std::min(4.0 * threads, static_cast<double>(s.batch * s.out_pixels()) * steps *
                                    static_cast<double>(s.channels * parts_panel_filters) / least_work);
    while (static_cast<double>(tasks()) < wanted) {
      const bool few = tasks() < threads;
      const bool strip = rows > 1 ? few || rows / 2 * columns >= fewest_pixels
                                  : columns > least_columns && (few || columns / 2 >= fewest_pixels);
      const bool panel = group > 1 && (few || group / 2 * taps >= fewest_panels);
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
