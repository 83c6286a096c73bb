// Direct convolution by parts of float32. A strip of the image is copied and split once, then a panel of
// weights at a time. In the copy pixels lie by what remains of their places when these are divided by the
// strides, so that every window steps by one: a tap is a distance, the pixels of a tile follow one another,
// and tiles run on from row to row, over a few pixels that are computed and not kept.
//
// Pixels that see anything without parts, and panels of weights that hold any, are computed as float32 once
// more. So bits depend neither on how the work is cut nor on what else is in the batch.
#include "cpu/blocked_parts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/cpu.h"
#include "cpu/amx.h"
#include "cpu/blocked_tile.h"
#include "cpu/gemm.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// Bytes of parts of input that are worked on at once: they stay in the second-level cache beside a panel.
constexpr double strip_bytes = 1 << 20;
/// Multiplications below which another task is not worth it.
constexpr double least_work = 1 << 19;
/// Multiplications between two polls.
constexpr int64_t polled_work = int64_t{1} << 22;
/// Floats of weights beyond which the next panel is fetched ahead.
constexpr int64_t cached_weights = 100000;
constexpr int64_t panel_blocks = 2, panel_filters = panel_blocks * channel_block;
/// Of a tile of A.
constexpr int64_t tile_rows = most_tiled_rows / 2;

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t whole_lines(int64_t bytes) { return ceil_of(bytes, 64) * 64; }

/// One axis of a window, in a copy whose pixels lie by the remainders of their places.
struct Phases {
  Phases(const BlockedShape& s, int axis)
      : step(s.stride[axis]),
        dilation(s.dilation[axis]),
        period(step / std::gcd(dilation, step)),
        count(std::min(s.kernel[axis], period)),
        further((s.kernel[axis] - 1) * dilation / step) {}
  int64_t phase(int64_t tap) const { return tap % period; }
  int64_t offset(int64_t tap) const { return tap * dilation / step; }
  int64_t remainder(int64_t phase) const { return phase * dilation % step; }

  int64_t step, dilation, period;
  int64_t count;    // of remainders that taps have
  int64_t further;  // pixels of a phase that the last tap is away from the first
};

/// How many pixels of each of both runs of a tile, and where they begin in the copy.
struct TilePlace {
  int64_t upper = 0, lower = 0, rows = 0;
};

/// The tiles of a strip: over all of its rows at once, or rows of their own, by twos.
class StripTiles {
 public:
  StripTiles(int64_t rows, int64_t columns, int64_t row_pixels)
      : rows_(rows),
        row_pixels_(row_pixels),
        all_((rows - 1) * row_pixels + columns, most_tiled_rows),
        row_(columns, tile_rows) {
    // What the registers are set for holds more than one tile's rows only where there are two tiles.
    by_rows_ = row_.rows(row_.count() - 1) > tile_rows / 2 && cost_by_rows() < cost_of_all();
  }
  int64_t count() const { return by_rows_ ? ceil_of(rows_, 2) * row_.count() : all_.count(); }
  TilePlace operator[](int64_t i) const {
    if (!by_rows_) {
      const int64_t begin = all_.begin(i), rows = all_.rows(i);
      return {begin, begin + upper_rows(rows), rows};
    }
    const int64_t row = i / row_.count() * 2, piece = i % row_.count();
    const int64_t begin = row * row_pixels_ + row_.begin(piece), height = row_.rows(piece);
    return {begin, begin + row_pixels_, row + 1 < rows_ ? 2 * height : height};
  }

 private:
  // Products take as long for 8 rows as for fewer; all else is worth some rows more.
  static constexpr double least_rows = 8, overhead = 4;
  static double cost(int64_t rows) {
    const auto upper = static_cast<double>(upper_rows(rows)), lower = static_cast<double>(rows) - upper;
    return std::max(upper, least_rows) + (lower > 0 ? std::max(lower, least_rows) : 0) + overhead;
  }
  double cost_of_all() const { return static_cast<double>(all_.count()) * cost(all_.rows(all_.count() - 1)); }
  double cost_by_rows() const {
    const int64_t height = row_.rows(row_.count() - 1);
    return static_cast<double>(row_.count()) * (static_cast<double>(rows_ / 2) * cost(2 * height) +
                                                static_cast<double>(rows_ % 2) * cost(height));
  }

  int64_t rows_, row_pixels_;
  RowTiles all_, row_;
  bool by_rows_ = false;
};

/// How the work is cut: strips of output rows (of columns, where a row is too long), and groups of panels.
struct PartsDivision {
  PartsDivision(const BlockedShape& shape, int threads)
      : s(shape),
        y(s, 0),
        x(s, 1),
        planes(y.count * x.count),
        pairs(ceil_of(s.in_blocks(), 2)),
        steps(pairs * s.taps()),
        panels(ceil_of(s.out_blocks(), panel_blocks)),
        columns(s.out[1]),
        group(panels) {
    const double pixel = static_cast<double>(pairs * planes * parts_ * part_pixel);
    const double row = pixel * static_cast<double>(columns + x.further);
    const double fit = strip_bytes / row - static_cast<double>(y.further);
    rows = std::clamp<int64_t>(static_cast<int64_t>(fit), 1, s.out[0]);
    rows = even(s.out[0], rows);
    if (rows == 1 && fit < 1) {
      const double across = strip_bytes / (pixel * static_cast<double>(1 + y.further));
      columns = even(s.out[1], std::clamp<int64_t>(static_cast<int64_t>(across), least_columns, columns));
    }
    share(threads);
    copy_rows = rows + y.further, copy_row = columns + x.further;
  }
  PartsDivision(const PartsDivision&) = delete;

  int64_t strips() const { return ceil_of(s.out[0], rows) * across(); }
  int64_t across() const { return ceil_of(s.out[1], columns); }
  int64_t groups() const { return ceil_of(panels, group); }
  int64_t tasks() const { return s.batch * strips() * groups(); }

  // Bytes: of one part of two blocks of a strip, of the strip, of a panel's parts.
  int64_t copy_pixels() const { return planes * copy_rows * copy_row; }
  int64_t part() const { return copy_pixels() * part_pixel; }
  int64_t strip_size() const { return pairs * parts_ * part(); }
  int64_t panel_size() const { return steps * part_weights; }
  int64_t steps_size() const { return whole_lines(steps * static_cast<int64_t>(sizeof(int64_t))); }
  /// Of pixels in the copy, and in the output, that have no parts.
  int64_t flags_size() const { return whole_lines(copy_pixels()) + whole_lines(rows * columns); }
  /// What a task needs, with weights of 16 bits made float32 again.
  int64_t slot(bool half) const {
    constexpr int64_t sums = most_tiled_rows * panel_filters * static_cast<int64_t>(sizeof(float));
    return strip_size() + panel_size() + flags_size() + sums + (half ? floats_size() : 0);
  }
  int64_t floats_size() const {
    return whole_lines(s.channels * s.taps() * panel_filters * static_cast<int64_t>(sizeof(float)));
  }

  /// Pixels from the first tap's to those of another one.
  int64_t distance(int64_t i, int64_t j) const {
    return ((y.phase(i) * x.count + x.phase(j)) * copy_rows + y.offset(i)) * copy_row + x.offset(j);
  }
  void fill(int64_t* offsets) const {
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t i = 0; i < s.kernel[0]; ++i)
        for (int64_t j = 0; j < s.kernel[1]; ++j)
          *offsets++ = pair * parts_ * part() + distance(i, j) * part_pixel;
  }

  static constexpr int64_t parts_ = 3, least_columns = 64;
  const BlockedShape& s;
  Phases y, x;
  int64_t planes, pairs, steps, panels;
  int64_t rows = 1, columns;            // of a strip
  int64_t group;                        // panels that a task computes
  int64_t copy_rows = 0, copy_row = 0;  // rows of a phase in the copy, and pixels of such a row

 private:
  static int64_t even(int64_t all, int64_t each) { return ceil_of(all, ceil_of(all, each)); }

  /// Gives every thread some tasks, cutting whichever of image and weights is larger.
  void share(int threads) {
    if (threads == 1) return;
    const auto image = static_cast<double>(s.channels * s.in_pixels()),
               weights = static_cast<double>(s.channels * s.taps() * s.filters);
    const double wanted =
        std::min(4.0 * threads, static_cast<double>(s.batch * s.out_pixels()) * weights / least_work);
    while (static_cast<double>(tasks()) < wanted) {
      const bool strips_first = image > weights;
      const bool cuts_rows = rows > 1 && (strips_first || group == 1);
      if (cuts_rows)
        rows = ceil_of(rows, 2);
      else if (columns > least_columns && rows == 1 && (strips_first || group == 1))
        columns = ceil_of(columns, 2);
      else if (group > 1)
        group = ceil_of(group, 2);
      else
        break;
    }
  }
};

/// One strip of one image, and the memory of the thread that computes it.
struct Strip {
  const float* x;
  float* y;
  int64_t row0, row1, column0, column1;
  char *copy, *panel;
  uint8_t *pixel_flags, *flags;  // by pixel of the copy, and by pixel of the output
  float *sums, *floats;
  bool wrong = false;  // is any flag set?
};

class PartsConvolution {
 public:
  PartsConvolution(const PartsDivision& d, Isa isa, const BlockedImages& images, const int64_t* offsets,
                   KernelContext& c)
      : d_(d), s_(d.s), isa_(isa), images_(images), offsets_(offsets), c_(c), finish_(c.epilogue()) {}

  /// Copies and splits the strip's input, with zeros around the image.
  void split(Strip& strip) const {
    bool wrong = false;
    for (int64_t pair = 0; pair < d_.pairs; ++pair) {
      c_.poll();
      char* const to = strip.copy + pair * PartsDivision::parts_ * d_.part();
      for_each_row(strip, [&](int64_t row, int64_t from, int64_t left, int64_t pixels, int64_t at) {
        char* const parts = to + at * part_pixel;
        clear(parts, 0, row < 0 ? d_.copy_row : left);
        if (row < 0) return;
        clear(parts, left + pixels, d_.copy_row);
        PartsRow r = row_of(strip, pair, row, from);
        r.pixels = pixels;
        r.to = parts + left * part_pixel;
        wrong = kernels_.split_row(r) || wrong;
      });
    }
    strip.wrong = wrong;
    if (wrong) flag(strip);
  }

  void compute(const Strip& strip, const StripTiles& tiles, int64_t panel, TileRegisters& registers) const {
    const int64_t first = panel * panel_filters, depth = s_.channels * s_.taps();
    const int64_t blocks = std::min(panel_blocks, s_.out_blocks() - panel * panel_blocks);
    const int64_t width = blocks * channel_block;
    const float* const weights =
        widened(isa_, images_.weights_type, images_.weights, first * depth, width * depth, strip.floats);
    const bool wrong_weights = kernels_.split_weights(
        {.from = weights, .width = width, .channels = s_.channels, .taps = s_.taps(), .to = strip.panel});

    std::array<float, panel_filters> bias{};
    if (images_.bias)
      std::copy_n(images_.bias + first, std::min(panel_filters, s_.filters - first), bias.data());
    PartsSums out{.blocks = blocks,
                  .bias = bias.data(),
                  .bounds = finish_.bounds,
                  .y = strip.y + panel * panel_blocks * s_.out_pixels() * channel_block,
                  .y_block = s_.out_pixels() * channel_block};
    PartsTile tile{
        .offsets = offsets_, .steps = d_.steps, .part = d_.part(), .w = strip.panel, .sums = strip.sums};
    const bool fetch = images_.weights_type == DataType::float32 && depth * s_.filters > cached_weights &&
                       panel + 1 < d_.panels;
    const int64_t polled_tiles = 1 + polled_work / (depth * width * most_tiled_rows);
    for (int64_t i = 0; i < tiles.count(); ++i) {
      if (i % polled_tiles == 0) c_.poll();
      const TilePlace place = tiles[i];
      registers.set(place.rows);
      tile.upper_rows = upper_rows(place.rows);
      tile.upper = strip.copy + place.upper * part_pixel;
      tile.lower = strip.copy + place.lower * part_pixel;
      if (fetch) fetch_ahead(tile, weights + width * depth, width * depth, i, tiles.count());
      const bool lower = place.rows > tile.upper_rows;
      kernels_.tile[lower][blocks > 1](tile);
      out.sums = strip.sums;
      finish(strip, out, place.upper, tile.upper_rows);
      out.sums += tile.upper_rows * panel_filters;
      if (lower) finish(strip, out, place.lower, place.rows - tile.upper_rows);
    }
    if (strip.wrong || wrong_weights) compute_plainly(strip, out, weights, wrong_weights);
  }

  void tell(const Strip& strip, int64_t image, int64_t panel) const {
    Epilogue* const e = finish_.epilogue;
    if (!e) return;
    const int64_t first = image * s_.out_blocks() + panel * panel_blocks;
    const int64_t blocks = std::min(panel_blocks, s_.out_blocks() - panel * panel_blocks);
    // A strip of part of a row has no other rows.
    const int64_t begin = strip.row0 * s_.out[1] + strip.column0,
                  end = (strip.row1 - 1) * s_.out[1] + strip.column1;
    for (int64_t i = 0; i < blocks; ++i)
      e->finish(((first + i) * s_.out_pixels() + begin) * channel_block, (end - begin) * channel_block);
  }

 private:
  static void clear(char* parts, int64_t begin, int64_t end, int64_t part) {
    for (int64_t i = 0; i < PartsDivision::parts_; ++i)
      std::fill(parts + i * part + begin * part_pixel, parts + i * part + end * part_pixel, char{0});
  }
  void clear(char* parts, int64_t begin, int64_t end) const { clear(parts, begin, end, d_.part()); }

  /// Calls f(row of the image or -1, its first pixel, zeros in front, pixels, index of the first in the copy)
  /// for every row of the copy.
  template <class F>
  void for_each_row(const Strip& strip, F&& f) const {
    int64_t at = 0;
    for (int64_t i = 0; i < d_.y.count; ++i)
      for (int64_t j = 0; j < d_.x.count; ++j) {
        // Pixel p of the copy is the image's at x + p * step.
        const int64_t step = d_.x.step, x = strip.column0 * step + d_.x.remainder(j) - s_.pad[1];
        const int64_t left = x < 0 ? std::min(ceil_of(-x, step), d_.copy_row) : 0;
        const int64_t end = x < s_.in[1] ? std::min(ceil_of(s_.in[1] - x, step), d_.copy_row) : 0;
        const int64_t pixels = std::max<int64_t>(0, end - left);
        for (int64_t r = 0; r < d_.copy_rows; ++r, at += d_.copy_row) {
          const int64_t row = (strip.row0 + r) * d_.y.step + d_.y.remainder(i) - s_.pad[0];
          f(row < s_.in[0] ? std::max<int64_t>(row, -1) : -1, x + left * step, left, pixels, at);
        }
      }
  }
  PartsRow row_of(const Strip& strip, int64_t pair, int64_t row, int64_t from) const {
    const int64_t block = 2 * pair, left = s_.channels - block * channel_block;
    const int64_t plane = s_.in_pixels() * channel_block;
    PartsRow r{.stride = d_.x.step * channel_block, .part = d_.part()};
    r.low = strip.x + block * plane + (row * s_.in[1] + from) * channel_block;
    r.lows = std::min(left, channel_block);
    if (left > channel_block) r.high = r.low + plane, r.highs = std::min(left - channel_block, channel_block);
    return r;
  }

  /// Finds out which pixels of the output see what has no parts.
  void flag(const Strip& strip) const {
    std::fill_n(strip.pixel_flags, d_.copy_pixels(), uint8_t{0});
    for (int64_t pair = 0; pair < d_.pairs; ++pair)
      for_each_row(strip, [&](int64_t row, int64_t from, int64_t left, int64_t pixels, int64_t at) {
        if (row < 0) return;
        alignas(64) char unused[PartsDivision::parts_ * part_pixel];
        PartsRow r = row_of(strip, pair, row, from);
        r.pixels = 1;
        r.to = unused;
        r.part = part_pixel;
        for (int64_t i = 0; i < pixels; ++i) {
          if (kernels_.split_row(r)) strip.pixel_flags[at + left + i] = 1;
          r.low += r.stride;
          if (r.high) r.high += r.stride;
        }
      });
    uint8_t* to = strip.flags;
    for (int64_t row = 0; row < strip.row1 - strip.row0; ++row)
      for (int64_t column = 0; column < strip.column1 - strip.column0; ++column, ++to) {
        *to = 0;
        for (int64_t i = 0; i < s_.kernel[0]; ++i)
          for (int64_t j = 0; j < s_.kernel[1]; ++j)
            *to |= strip.pixel_flags[d_.distance(i, j) + row * d_.copy_row + column];
      }
  }

  static void fetch_ahead(PartsTile& tile, const float* weights, int64_t floats, int64_t i, int64_t tiles) {
    constexpr int64_t line = 16;
    const int64_t each = ceil_of(floats, line * tile.steps * tiles), begin = i * each * tile.steps * line;
    tile.next = weights + begin;
    tile.next_lines = begin < floats ? each : 0;
  }

  /// Stores what belongs to the output of `pixels` sums that begin with so many a pixel of the copy.
  void finish(const Strip& strip, PartsSums out, int64_t from, int64_t pixels) const {
    const int64_t columns = strip.column1 - strip.column0;
    float* const y = out.y;
    for (int64_t row = from / d_.copy_row, column = from % d_.copy_row; pixels > 0; ++row, column = 0) {
      const int64_t there = std::min(d_.copy_row - column, pixels);
      out.pixels = std::min(there, columns - column);
      out.y = y + ((strip.row0 + row) * s_.out[1] + strip.column0 + column) * channel_block;
      if (out.pixels > 0) kernels_.finish(out);
      out.sums += there * panel_filters;
      pixels -= there;
    }
  }

  /// Computes what has no parts, or all pixels, as float32.
  void compute_plainly(const Strip& strip, PartsSums out, const float* weights, bool all) const {
    const int64_t width = out.blocks * channel_block, taps = s_.taps();
    float* const y = out.y;
    const uint8_t* flag = strip.flags;
    out.pixels = 1;
    out.sums = strip.sums;
    for (int64_t row = strip.row0; row < strip.row1; ++row)
      for (int64_t column = strip.column0; column < strip.column1; ++column, ++flag) {
        if (!all && !*flag) continue;
        c_.poll();
        std::fill_n(strip.sums, panel_filters, 0.0F);
        for (int64_t channel = 0; channel < s_.channels; channel += channel_block) {
          const int64_t n = std::min(channel_block, s_.channels - channel);
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t i = row * s_.stride[0] - s_.pad[0] + tap / s_.kernel[1] * s_.dilation[0],
                          j = column * s_.stride[1] - s_.pad[1] + tap % s_.kernel[1] * s_.dilation[1];
            if (i < 0 || i >= s_.in[0] || j < 0 || j >= s_.in[1]) continue;
            kernels_.add_terms(strip.x + channel * s_.in_pixels() + (i * s_.in[1] + j) * channel_block, n,
                               weights + (channel * taps + tap * n) * width, width, strip.sums);
          }
        }
        out.y = y + (row * s_.out[1] + column) * channel_block;
        kernels_.finish(out);
      }
  }

  const PartsDivision& d_;
  const BlockedShape& s_;
  const Isa isa_;
  const BlockedImages& images_;
  const int64_t* offsets_;
  KernelContext& c_;
  const Finish finish_;
  const PartsKernels& kernels_ = parts_kernels();
};

}  // namespace

bool uses_parts(Isa isa, const BlockedShape& s) {
  constexpr int64_t fewest_channels = 24, fewest_pixels = 32;
  return isa == Isa::avx512 && !s.plain && !s.pairs && s.channels >= fewest_channels &&
         s.out_pixels() >= fewest_pixels && cpu_features().amx_bf16 && uses_amx();
}

size_t parts_workspace(const BlockedShape& s, bool half, int threads) {
  const PartsDivision d(s, threads);
  // With what it takes to begin with a line.
  return static_cast<size_t>(64 + d.steps_size() + task_slots(d.tasks(), threads) * d.slot(half));
}

void parts_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                       KernelContext& c) {
  const PartsDivision d(s, c.threads());
  char* const memory =
      static_cast<char*>(workspace) + (64 - reinterpret_cast<uintptr_t>(workspace) % 64) % 64;
  auto* const offsets = reinterpret_cast<int64_t*>(memory);
  d.fill(offsets);
  const bool half = images.weights_type != DataType::float32;
  const PartsConvolution convolution(d, isa, images, offsets, c);
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
    const int64_t group = task % d.groups(), part = task / d.groups() % d.strips(),
                  image = task / d.groups() / d.strips();
    const int64_t row = part / d.across() * d.rows, column = part % d.across() * d.columns;
    char* at = memory + d.steps_size() + slot * d.slot(half);
    const auto take = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    Strip strip{.x = images.x + image * s.in_blocks() * s.in_pixels() * channel_block,
                .y = images.y + image * s.out_blocks() * s.out_pixels() * channel_block,
                .row0 = row,
                .row1 = std::min(row + d.rows, s.out[0]),
                .column0 = column,
                .column1 = std::min(column + d.columns, s.out[1]),
                .copy = take(d.strip_size()),
                .panel = take(d.panel_size()),
                .pixel_flags = reinterpret_cast<uint8_t*>(take(whole_lines(d.copy_pixels()))),
                .flags = reinterpret_cast<uint8_t*>(take(whole_lines(d.rows * d.columns))),
                .sums = nullptr,
                .floats = nullptr};
    strip.sums =
        reinterpret_cast<float*>(take(most_tiled_rows * panel_filters * static_cast<int64_t>(sizeof(float))));
    strip.floats = reinterpret_cast<float*>(at);
    convolution.split(strip);
    const StripTiles tiles(strip.row1 - strip.row0, strip.column1 - strip.column0, d.copy_row);
    TileRegisters registers;
    for (int64_t panel = group * d.group; panel < std::min((group + 1) * d.group, d.panels); ++panel) {
      convolution.compute(strip, tiles, panel, registers);
      convolution.tell(strip, image, panel);
    }
  });
}

}  // namespace lathe::cpu
