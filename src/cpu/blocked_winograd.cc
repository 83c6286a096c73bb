// Convolution with kernels of 3 x 3 and 5 x 5 by Winograd's minimal filtering: tiles of the image and the
// weights are evaluated at points, multiplied point by point (one matrix product each, by the micro-kernels
// of direct convolution), and tiles of the output are interpolated from the products.
//
// A group of tiles goes through all of it while its points stay in the second-level cache.
#include "cpu/blocked_winograd.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "cpu/blocked_parts.h"
#include "cpu/blocked_tile.h"
#include "cpu/ceil_of.h"
#include "cpu/gemm.h"
#include "cpu/isa.h"
#include "cpu/tasks.h"
#include "cpu/winograd_parts.h"
#include "cpu/winograd_turned.h"
#include "cpu/winograd_weights.h"

#define LATHE_ISA_BODY "cpu/blocked_winograd_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(WinogradKernels, winograd_kernels)

namespace {

/// Floats that the points of a group may take.
constexpr int64_t group_floats = int64_t{1} << 17;
/// Tiles of a group that make reading the weights worth it.
constexpr int64_t fewest_tiles = 28;
/// The same where weights are split into parts; but no more floats than this.
constexpr int64_t parts_tiles = 112, most_parts_floats = int64_t{1} << 21;
/// Floats of weights beyond which the next panel is fetched ahead.
constexpr int64_t fetched_weights = 100000;
/// Weights at the points, in floats, that stay in a cache.
constexpr double cached_points = 3e6;
/// Turned weights are evaluated a panel of filters at a time, so many floats at the points together, and
/// multiplied while they stay in the second-level cache. As many tiles as make that worth it, but no more
/// floats of them. Fewer weights at the points than this are evaluated at once: they stay there as a whole.
constexpr int64_t turned_piece = int64_t{72} << 10, many_tiles = 64, most_turned_floats = int64_t{1} << 21,
                  evaluated_at_once = int64_t{160} << 10;
/// As few tiles as registers hold are multiplied with filters that are evaluated in registers; some channels
/// at a time, whose weights stay in the first-level cache.
constexpr int64_t channels_in_registers = 32;
/// Multiplications below which a second thread is not worth it; tiles that pay for reading all weights once
/// more, and filters for evaluating all of the image once more.
constexpr double least_shared = 1 << 19;
constexpr int64_t tiles_apart = 8, filters_apart = 64;
bool fits_registers(Isa isa, Filtering f, int64_t tiles) {
  return f == Filtering{4, 3} && tiles <= turned_tiles(isa).max_tiles;
}

/// Where turned weights are evaluated.
enum class Evaluation { none, at_once, by_pieces, in_registers };

/// Roughly what F takes for each pair of channels, in multiplications, with weights at the points, or turned;
/// direct convolution for output 0. Few tiles wait for their weights.
struct Cost {
  Cost(Isa isa, const BlockedShape& s, Filtering f) {
    constexpr double from_cache = 5, from_memory = 13, evaluating = 4, in_registers = 2.5;  // a weight
    const double transform = f.taps == 5 ? 6 : 10;
    const double filters = static_cast<double>(s.filters), channels = static_cast<double>(s.channels);
    const int tile = std::max(f.output, 1);
    const double points = Filtering{tile, f.taps}.points();
    const int64_t all_tiles = s.batch * ceil_of(s.out[0], tile) * ceil_of(s.out[1], tile);
    const auto tiles = static_cast<double>(all_tiles);
    const double around = f.output == 0 ? 0 : transform * (1 / filters + 1 / channels);
    const double fetch = points * filters * channels > cached_points ? from_memory : from_cache;
    at_points = points * std::max(tiles * (1 + around), fetch);
    const double evaluated = fits_registers(isa, f, all_tiles)
                                 ? in_registers
                                 : static_cast<double>(ceil_of(all_tiles, many_tiles)) * evaluating;
    turned =
        std::max(points * (tiles * (1 + around) + evaluated), static_cast<double>(s.taps()) * from_memory);
  }
  double at_points, turned;
};
double cost(Isa isa, const BlockedShape& s, Filtering f) {
  const Cost c(isa, s, f);
  return f.output > 0 && prefers_turned(isa, s, f) ? c.turned : c.at_points;
}

/// How many nanoseconds less the products of one image take by parts than by vectors, roughly; negative
/// where they take longer. `group`: tiles that are multiplied at once.
double saved_by_parts(const BlockedShape& s, Filtering f, int64_t group) {
  // On one thread of the processor where it was measured: vectors' products in a nanosecond; two blocks of
  // channels of up to 32 tiles with a panel of filters, what splitting its weights adds, and at least; parts
  // of two blocks of a tile; and what a vector of a point takes since groups are larger.
  constexpr double products = 105, run = 112, split_weights = 45, least = 130, split_tile = 4, larger = 3.2;
  // In floating point, since plans may say anything.
  const int64_t tiles = ceil_of(s.out[0], f.output) * ceil_of(s.out[1], f.output);
  const PointsDivision d(s.channels, s.filters, group);
  const auto all = static_cast<double>(tiles), groups = static_cast<double>(ceil_of(tiles, group)),
             pairs = static_cast<double>(d.pairs), panels = static_cast<double>(d.panels),
             vectors = static_cast<double>(s.in_blocks() + s.out_blocks());
  const double step = std::max(static_cast<double>(d.rows / d.run) * run + split_weights, least);
  return static_cast<double>(f.points()) *
         (all * static_cast<double>(s.channels) * static_cast<double>(s.filters) / products -
          groups * pairs * panels * step - all * (pairs * split_tile + vectors * larger));
}

/// How the tiles are cut into groups: whole rows of tiles, or pieces of one row, or, where several threads
/// are to have as many each, any tiles that follow one another. Rows are counted through all images. Whether
/// products are made of parts follows from the shape of one image alone, and results depend on nothing else.
struct Groups {
  Groups(Isa isa, const BlockedShape& s, Filtering f, bool turned, int threads = 1)
      : points(f.points()),
        image_rows(ceil_of(s.out[0], f.output)),
        image_columns(ceil_of(s.out[1], f.output)),
        all_rows(s.batch * image_rows),
        in_blocks(s.in_blocks()),
        out_blocks(s.out_blocks()),
        panel_blocks(blocked_tiles(isa).panel_blocks) {
    const int64_t tile = points * (in_blocks + out_blocks) * channel_block;
    const int64_t group = s.group > 0 ? s.group : group_floats;
    if (fits_parts(isa, s)) {
      const int64_t wanted = std::min(parts_tiles * group / group_floats, most_parts_floats / tile);
      cut(wanted, image_rows);
      saved = saved_by_parts(s, f, tiles);
      cut(wanted, all_rows);
      if (saved > 0) parts.emplace(s.channels, s.filters, tiles);
    }
    if (turned) evaluation = evaluation_of(isa, s, f);
    if (parts) return;
    int64_t wanted = std::max(fewest_tiles, group / tile);
    if (evaluation == Evaluation::by_pieces)
      wanted = std::max(wanted, std::min(many_tiles, most_turned_floats / tile));
    cut(wanted, all_rows);
    if (evaluation == Evaluation::by_pieces || evaluation == Evaluation::in_registers)
      by_panels = true;
    else
      share(threads, s.filters);
  }
  /// The first tile of a group, of all tiles in their order.
  int64_t begin(int64_t i) const {
    return whole_rows ? i * all_rows / count * image_columns : i * all_tiles() / count;
  }
  int64_t all_tiles() const { return all_rows * image_columns; }
  int64_t panels() const { return ceil_of(out_blocks, panel_blocks); }
  // Points lie as [point][block][tile][16]; products by parts, as [point][pair of blocks][tile][32].
  // An odd number of lines from point to point: an even one would put them into few sets of the caches.
  int64_t in_point() const { return (in_blocks * tiles | 1) * channel_block; }
  int64_t out_point() const {
    return parts ? parts->point() : ((by_panels ? panel_blocks : out_blocks) * tiles | 1) * channel_block;
  }
  int64_t out_tile() const { return parts ? parts_panel_filters : channel_block; }
  int64_t out_block(int64_t block) const {
    if (!parts) return (by_panels ? block % panel_blocks : block) * tiles * channel_block;
    return block / parts_panel_blocks * parts->panel() + block % parts_panel_blocks * channel_block;
  }
  int64_t floats() const { return points * (in_point() + out_point()); }

  int64_t points, image_rows, image_columns, all_rows, in_blocks, out_blocks, panel_blocks;
  int64_t count = 1, tiles = 1;         // groups, and tiles of the largest
  bool whole_rows = true;               // has each of them?
  bool by_panels = false;               // is there memory for the products of one panel only, not of all?
  double saved = 0;                     // nanoseconds by parts, of an image
  std::optional<PointsDivision> parts;  // where products are made of them
  Evaluation evaluation = Evaluation::none;

 private:
  Evaluation evaluation_of(Isa isa, const BlockedShape& s, Filtering f) const {
    if (parts) return Evaluation::at_once;
    if (fits_registers(isa, f, all_tiles())) return Evaluation::in_registers;
    const bool many = winograd_weights_size(s, f) > evaluated_at_once;
    return many ? Evaluation::by_pieces : Evaluation::at_once;
  }
  /// About as many tiles as are wanted, of so many rows.
  void cut(int64_t wanted, int64_t rows) {
    const int64_t of_row = ceil_of(image_columns, std::max<int64_t>(wanted, 1));
    whole_rows = of_row == 1;
    count = whole_rows ? ceil_of(rows, std::clamp<int64_t>(wanted / image_columns, 1, rows)) : rows * of_row;
    tiles = whole_rows ? ceil_of(rows, count) * image_columns : ceil_of(image_columns, of_row);
  }
  /// Gives every thread as many tiles, or as many filters: whoever shares one group with others reads what
  /// they have just written, and waits for them.
  void share(int threads, int64_t filters) {
    const double work = static_cast<double>(points * all_tiles() * in_blocks) *
                        static_cast<double>(out_blocks * channel_block * channel_block);
    if (threads == 1 || count >= int64_t{8} * threads || work < least_shared) return;
    if (all_tiles() >= tiles_apart * threads) {
      count = ceil_of(count, threads) * threads;
      whole_rows = count <= all_rows && all_rows % threads == 0;
      tiles = whole_rows ? ceil_of(all_rows, count) * image_columns : ceil_of(all_tiles(), count);
    } else if (count == 1 && filters >= filters_apart * threads) {
      by_panels = ceil_of(panels(), threads) * threads * 8 <= panels() * 9;
    }
  }
};

int64_t steps_size(const BlockedShape& s) {
  return ceil_of(s.in_blocks() * static_cast<int64_t>(sizeof(int64_t) / sizeof(float)), 16) * 16;
}

/// So many groups are tasks of single threads; all threads work together on each of the others, where it has
/// enough multiplications to be worth three loops of all threads: each costs as long as some hundred
/// thousand. One loop is enough where each thread evaluates all of the image for its filters.
int64_t groups_apart(const Groups& g, int threads) {
  const double least = g.by_panels ? least_shared : 4 * least_shared;
  const double work =
      static_cast<double>(g.points * g.in_point()) * static_cast<double>(g.out_blocks * channel_block);
  if (threads == 1 || g.count >= int64_t{8} * threads || work < least) return g.count;
  return g.count < (g.parts ? 2 : 1) * threads ? 0 : g.count / threads * threads;
}
int64_t slots_of(const Groups& g, int threads) {
  const int64_t apart = groups_apart(g, threads), shared = g.by_panels && apart < g.count ? g.panels() : 1;
  return task_slots(std::max(apart, shared), threads);
}
/// Floats of scratch for products by parts, of every thread; with what it takes to begin with a line.
int64_t parts_floats(const Groups& g) {
  return g.parts ? (g.parts->scratch() + 64) / static_cast<int64_t>(sizeof(float)) : 0;
}
/// Of groups apart one for each, of the others one for each piece of their points.
int64_t parts_slots(const Groups& g, int threads) {
  return g.parts ? std::max(slots_of(g, threads), task_slots(g.points, threads)) : 0;
}

/// A piece of turned weights, evaluated: [point][channel][filter of a panel].
struct TurnedPiece {
  TurnedPiece(Isa isa, const BlockedShape& s, Filtering f)
      : filters(std::min(blocked_tiles(isa).panel_filters(), s.out_blocks() * channel_block)),
        channels(
            std::clamp(turned_piece / (f.points() * filters) / channel_block, int64_t{1}, s.in_blocks()) *
            channel_block),
        point(channels * filters + 16),
        floats(f.points() * point) {}
  int64_t filters, channels;
  int64_t point;  // points do not lie a power of two apart: their lines would be of few sets of the cache
  int64_t floats;
};

class Winograd {
 public:
  /// `weights`: at the points; null where turned ones are evaluated as they are multiplied.
  Winograd(Isa isa, const BlockedShape& s, Filtering f, const BlockedImages& images, const float* weights,
           const int64_t* steps, const Groups& groups, KernelContext& c)
      : s_(s),
        output_(f.output),
        form_(form_of(f)),
        images_(images),
        weights_(weights),
        turned_(isa, s, f, images),
        piece_(isa, s, f),
        in_registers_(turned_tiles(isa)),
        steps_(steps),
        c_(c),
        g_(groups),
        kernels_(winograd_kernels(isa)),
        tiles_(blocked_tiles(isa)) {}

  int64_t products() const { return g_.points * g_.panels(); }

  /// Evaluates blocks [begin, end) of a group's input at the points.
  void input(int64_t group, float* points, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      for_each_row(group, [&](int64_t image, WinogradRow row, int64_t tile) {
        row.points = points + (block * g_.tiles + tile) * channel_block;
        row.point = g_.in_point();
        row.x = images_.x + (image * g_.in_blocks + block) * s_.in_pixels() * channel_block;
        row.channels = std::min(channel_block, s_.channels - block * channel_block);
        kernels_.input[form_](row);
      });
    }
  }

  /// Multiplies: product i is that of one point and one panel of filters.
  void multiply(int64_t group, const float* points, float* to, int64_t begin, int64_t end) const {
    const int64_t used = used_tiles(group);
    const auto few = g_.out_blocks == 1 && s_.channels <= channel_block ? tiles_.few[s_.channels] : nullptr;
    if (few) {
      c_.poll();
      for (int64_t i = begin; i < end; ++i)
        few(points + i * g_.in_point(), weights_at(i, 0), to + i * g_.out_point(), used);
      return;
    }
    const RowTiles rows(used, tiles_.max_rows);
    for (int64_t i = begin; i < end; ++i) {
      if (i % 8 == 0) c_.poll();
      const int64_t point = i / g_.panels(), panel = i % g_.panels();
      // Panels follow one another in memory.
      multiply(point, panel, i + 1 < products() ? weights_of(i + 1) : nullptr, rows, points, to);
    }
  }
  /// Multiplies all points with one panel.
  void multiply_panel(int64_t group, const float* points, float* to, int64_t panel) const {
    const RowTiles rows(used_tiles(group), tiles_.max_rows);
    for (int64_t point = 0; point < g_.points; ++point) {
      if (point % 8 == 0) c_.poll();
      const int64_t next = (point + 1) * g_.panels() + panel;
      multiply(point, panel, next < products() ? weights_of(next) : nullptr, rows, points, to);
    }
  }
  /// The same with turned weights: all points of panels [begin, end).
  void multiply_by_pieces(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                          float* room) const {
    const int64_t of_panel = ceil_of(s_.channels, piece_.channels);
    const auto piece_at = [&](int64_t i) -> TurnedWeights::Piece {
      const int64_t channel = i % of_panel * piece_.channels;
      return {i / of_panel * tiles_.panel_blocks, channel, std::min(piece_.channels, s_.channels - channel)};
    };
    const RowTiles rows(used_tiles(group), tiles_.max_rows);
    for (int64_t i = begin * of_panel; i < end * of_panel; ++i) {
      c_.poll();
      const TurnedWeights::Piece piece = piece_at(i);
      turned_.evaluate(piece, room, piece_.point);
      multiply_piece(piece, rows, points, to, room, i + 1 < g_.panels() * of_panel ? piece_at(i + 1) : piece);
    }
  }
  /// The same with turned weights that are evaluated in registers: blocks of filters [begin, end). `room`:
  /// for some channels' weights, where they have 16 bits.
  void multiply_in_registers(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                             float* room) const {
    const int64_t tiles = used_tiles(group);
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      for (int64_t channel = 0; channel < s_.channels; channel += channels_in_registers) {
        TurnedTile t{.x_point = g_.in_point(),
                     .x_block = g_.tiles * channel_block,
                     .channels = std::min(channels_in_registers, s_.channels - channel),
                     .y_point = g_.out_point(),
                     .adds = channel > 0};
        t.w = turned_.of_block(block, channel, t.channels, t.w_channel, room);
        const float* const soon = turned_.after(block, channel, std::min(channels_in_registers, s_.channels));
        for (int64_t row = 0; row < TurnedTiles::points; ++row) {
          const int64_t point = row * TurnedTiles::points, line = 2 * row;
          t.x = points + point * t.x_point + channel * g_.tiles;
          t.y = to + point * t.y_point + g_.out_block(block);
          t.next = soon && line < s_.taps() ? soon + line * channel_block : nullptr;
          in_registers_.run[row][tiles](t);
        }
      }
    }
  }
  /// The same by parts, of points [begin, end).
  void multiply_parts(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                      float* scratch) const {
    Products p(*this);
    p.x = points, p.x_tiles = g_.tiles, p.x_point = g_.in_point();
    p.tiles = used_tiles(group);
    p.weights = weights_;
    p.y = to;
    char* const memory = reinterpret_cast<char*>(scratch);
    multiply_points(*g_.parts, p, begin, end, memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64,
                    c_);
  }

  /// Makes blocks [begin, end) of a group's output of its products.
  void output(int64_t group, float* products, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      std::array<float, channel_block> bias{};
      const int64_t first = block * channel_block;
      if (images_.bias)
        std::copy_n(images_.bias + first, std::min(channel_block, s_.filters - first), bias.data());
      for_each_row(group, [&](int64_t image, WinogradRow row, int64_t tile) {
        const int64_t plane = (image * g_.out_blocks + block) * s_.out_pixels();
        row.points = products + g_.out_block(block) + tile * g_.out_tile();
        row.point = g_.out_point();
        row.tile = g_.out_tile();
        row.bias = bias.data();
        row.y = images_.y + plane * channel_block;
        row.bounds = finish_.bounds;
        kernels_.output[form_](row);
        finish(row, plane);
      });
    }
  }

  /// Products with one panel, and what becomes of them. `room`: for a piece of turned weights.
  void run_panel(int64_t group, const float* points, float* products, int64_t panel, float* room) const {
    const int64_t first = panel * g_.panel_blocks, end = std::min(first + g_.panel_blocks, g_.out_blocks);
    if (g_.evaluation == Evaluation::in_registers)
      multiply_in_registers(group, points, products, first, end, room);
    else if (g_.evaluation == Evaluation::by_pieces)
      multiply_by_pieces(group, points, products, panel, panel + 1, room);
    else
      multiply_panel(group, points, products, panel);
    output(group, products, first, end);
  }

 private:
  /// Calls f(image, tiles of a row, index of the first of them in the group).
  template <class F>
  void for_each_row(int64_t group, F&& f) const {
    const int64_t begin = g_.begin(group), end = g_.begin(group + 1);
    for (int64_t i = begin, some = 0; i < end; i += some) {
      const int64_t row = i / g_.image_columns, column = i % g_.image_columns;
      some = std::min(g_.image_columns - column, end - i);
      f(row / g_.image_rows,
        WinogradRow{.shape = &s_, .row = row % g_.image_rows, .column = column, .tiles = some}, i - begin);
    }
  }
  /// Those at a point, of the panel that begins with block `first`.
  const float* weights_at(int64_t point, int64_t first) const {
    return weights_ + (point * g_.out_blocks + first) * channel_block * s_.channels;
  }
  const float* weights_of(int64_t product) const {
    return weights_at(product / g_.panels(), product % g_.panels() * g_.panel_blocks);
  }
  /// One point with one panel; weights from `next` on are wanted soon.
  void multiply(int64_t point, int64_t panel, const float* next, const RowTiles& rows, const float* points,
                float* to) const {
    const int64_t first = panel * g_.panel_blocks, blocks = std::min(g_.panel_blocks, g_.out_blocks - first);
    const auto& kernels = tiles_.of(channel_block, blocks);
    BlockedTile t = product(weights_at(point, first), s_.channels, g_.tiles * channel_block);
    if (next && s_.channels * s_.filters * g_.points > fetched_weights)
      t.fetch(next, blocks * channel_block * s_.channels, rows.count());
    for (int64_t j = 0; j < rows.count(); ++j) {
      t.x = points + point * g_.in_point() + rows.begin(j) * channel_block;
      t.y = to + point * g_.out_point() + g_.out_block(first) + rows.begin(j) * channel_block;
      kernels[rows.rows(j)](t);
      t.fetched();
    }
  }
  /// The products of `channels` channels, at one point with one panel.
  BlockedTile product(const float* weights, int64_t channels, int64_t y_block) const {
    const int64_t left = channels % channel_block;
    return {.steps = steps_,
            .count = channels / channel_block,
            .depth = channel_block,
            .last_count = left ? 1 : 0,
            .last_depth = left,
            .stride = channel_block,
            .w = weights,
            .y_block = y_block};
  }
  /// Adds the products of a piece of turned weights, asking for the next.
  void multiply_piece(const TurnedWeights::Piece& piece, const RowTiles& rows, const float* points, float* to,
                      const float* weights, const TurnedWeights::Piece& next) const {
    const auto& kernels =
        tiles_.of(channel_block, std::min(tiles_.panel_blocks, g_.out_blocks - piece.first));
    BlockedTile t = product(weights, piece.n, g_.tiles * channel_block);
    t.adds = piece.channel > 0;
    t.fetch(turned_.at(next), turned_.floats(next), g_.points * rows.count());
    for (int64_t point = 0; point < g_.points; ++point)
      for (int64_t row = 0; row < rows.count(); ++row) {
        const int64_t tile = rows.begin(row) * channel_block;
        t.x = points + point * g_.in_point() + piece.channel * g_.tiles + tile;
        t.y = to + point * g_.out_point() + g_.out_block(piece.first) + tile;
        t.w = weights + point * piece_.point;
        kernels[rows.rows(row)](t);
        t.fetched();
      }
  }
  struct Products final : PointProducts {
    explicit Products(const Winograd& of) : w(of) {}
    void multiply_plainly(int64_t point, int64_t panel, int64_t tile) const override {
      const int64_t first = panel * parts_panel_blocks;
      BlockedTile t = w.product(w.weights_at(point, first), w.s_.channels, channel_block);
      t.x = x + point * x_point + tile * channel_block;
      t.y = y + point * w.g_.out_point() + w.g_.out_block(first) + tile * parts_panel_filters;
      w.tiles_.of(channel_block, std::min(parts_panel_blocks, w.g_.out_blocks - first))[1](t);
    }
    const Winograd& w;
  };
  int64_t used_tiles(int64_t group) const { return g_.begin(group + 1) - g_.begin(group); }

  void finish(const WinogradRow& row, int64_t plane) const {
    Epilogue* const e = finish_.epilogue;
    if (!e) return;
    const int64_t y0 = row.row * output_, y1 = std::min(y0 + output_, s_.out[0]);
    const int64_t x0 = row.column * output_, x1 = std::min(x0 + row.tiles * output_, s_.out[1]);
    if (x0 == 0 && x1 == s_.out[1])
      return e->finish((plane + y0 * s_.out[1]) * channel_block, (y1 - y0) * s_.out[1] * channel_block);
    for (int64_t y = y0; y < y1; ++y)
      e->finish((plane + y * s_.out[1] + x0) * channel_block, (x1 - x0) * channel_block);
  }

  const BlockedShape& s_;
  const int64_t output_;
  const size_t form_;
  const BlockedImages& images_;
  const float* weights_;
  const TurnedWeights turned_;
  const TurnedPiece piece_;
  const TurnedTiles& in_registers_;
  const int64_t* steps_;
  KernelContext& c_;
  const Finish finish_{c_.epilogue()};
  const Groups& g_;
  const WinogradKernels& kernels_;
  const BlockedTiles& tiles_;
};

}  // namespace

bool fits_winograd(const BlockedShape& s, Filtering f) {
  bool fits = !s.plain;
  for (int a : {0, 1}) fits = fits && s.kernel[a] == f.taps && s.stride[a] == 1 && s.dilation[a] == 1;
  return fits;
}

Filtering fastest_winograd(Isa isa, const BlockedShape& s) {
  Filtering best;
  for (Filtering f : filterings) {
    const int64_t fewest_channels = f.taps == 5 ? 8 : 16;
    if (!fits_winograd(s, f) || std::min(s.channels, s.filters) < fewest_channels) continue;
    // Of 25 taps, to transform a block of channels takes as long as is saved at six of them, or at three
    // where products take two turns (measured there with MNIST's: 11.4 us, 7.8 with Winograd).
    const int64_t saved_at = isa == Isa::avx512 && cpu_features().avx512_halved ? 3 : 6;
    if (f.taps == 5 && s.channels * s.out_blocks() < saved_at * (s.in_blocks() + s.out_blocks())) continue;
    best.taps = f.taps;
    if (cost(isa, s, f) < cost(isa, s, best)) best = f;
  }
  // Direct convolution by parts makes more of them in that time: it is faster where there are few tiles, and
  // their weights come from memory.
  if (best.output > 0 && uses_parts(isa, s)) {
    const auto weights = static_cast<double>(s.channels * s.filters);
    const bool fetched = best.points() * weights > cached_points;
    const double each = best.taps == 5 ? 0.011
                        : fetched      ? 0.0155
                                       : 0.0135,
                 least = fetched ? 0.36 * best.points() : 0;  // nanoseconds that weights take from memory
    const Groups g(isa, s, best, false);
    const double saved = g.parts ? g.saved * static_cast<double>(s.batch) : 0;
    if (parts_time(s) < std::max(each * cost(isa, s, best) * weights - saved, least * weights)) return {};
  }
  return best;
}

bool prefers_turned(Isa isa, const BlockedShape& s, Filtering f) {
  // What they save, loading and memory, is worth a little time, where it is much.
  constexpr int64_t held = int64_t{1} << 20;
  constexpr double worth = 1.25;
  if (fits_parts(isa, s)) return false;
  const int64_t tiles = ceil_of(s.out[0], f.output) * ceil_of(s.out[1], f.output);
  if (fits_registers(isa, f, s.batch * tiles)) return true;
  const Cost c(isa, s, f);
  return tiles <= many_tiles && winograd_weights_size(s, f) > held && c.turned < worth * c.at_points;
}

namespace {

/// What a convolution's scratch is made of, in floats: slots, each of a group's points and products, of
/// parts, and of a piece of turned weights; then what all threads read.
struct Scratch {
  Scratch(Isa isa, const BlockedShape& s, Filtering f, const Groups& g, int threads)
      : group(g.floats()),
        part(parts_floats(g)),
        stride(slot_stride(group + part + piece_floats(isa, s, f, g), threads)),
        slots(std::max(slots_of(g, threads), parts_slots(g, threads)) * stride),
        steps(steps_size(s)),
        evaluated(g.evaluation == Evaluation::at_once ? winograd_weights_size(s, f) : 0) {}
  int64_t floats() const { return slots + steps + evaluated; }

  int64_t group, part;  // `part`: of a thread's parts
  int64_t stride, slots, steps, evaluated;

 private:
  static int64_t piece_floats(Isa isa, const BlockedShape& s, Filtering f, const Groups& g) {
    if (g.evaluation == Evaluation::by_pieces) return TurnedPiece(isa, s, f).floats;
    return g.evaluation == Evaluation::in_registers ? channels_in_registers * s.taps() * channel_block : 0;
  }
};

}  // namespace

size_t winograd_workspace(Isa isa, const BlockedShape& s, Filtering f, bool turned, int threads) {
  if (s.empty()) return 0;
  return static_cast<size_t>(Scratch(isa, s, f, Groups(isa, s, f, turned, threads), threads).floats()) *
         sizeof(float);
}

void winograd_convolution(Isa isa, const BlockedShape& s, Filtering f, bool turned,
                          const BlockedImages& images, void* workspace, KernelContext& c) {
  if (s.empty()) return;
  const Groups g(isa, s, f, turned, c.threads());
  const Scratch sizes(isa, s, f, g, c.threads());
  float* const scratch = static_cast<float*>(workspace);
  auto* const steps = reinterpret_cast<int64_t*>(scratch + sizes.slots);
  float* const evaluated = scratch + sizes.slots + sizes.steps;
  for (int64_t i = 0; i < g.in_blocks; ++i) steps[i] = i * g.tiles * channel_block;
  if (sizes.evaluated > 0) TurnedWeights(isa, s, f, images).evaluate_all(evaluated, c);
  const float* const weights = g.evaluation == Evaluation::none ? static_cast<const float*>(images.weights)
                               : sizes.evaluated > 0            ? evaluated
                                                                : nullptr;
  const Winograd w(isa, s, f, images, weights, steps, g, c);
  const int64_t in_floats = g.points * g.in_point();

  const int64_t apart = groups_apart(g, c.threads());
  for_each_task(c, apart, [&](int64_t group, int64_t slot) {
    float *const in = scratch + slot * sizes.stride, *const out = in + in_floats;
    w.input(group, in, 0, g.in_blocks);
    if (g.by_panels) {
      for (int64_t panel = 0; panel < g.panels(); ++panel)
        w.run_panel(group, in, out, panel, in + sizes.group + sizes.part);
      return;
    }
    if (g.parts)
      w.multiply_parts(group, in, out, 0, g.points, in + sizes.group);
    else
      w.multiply(group, in, out, 0, w.products());
    w.output(group, out, 0, g.out_blocks);
  });
  for (int64_t group = apart; group < g.count; ++group) {
    if (g.by_panels) {
      const int64_t slots = task_slots(g.panels(), c.threads());
      Shares panels(g.panels(), slots);
      c.parallel(slots, 1, [&](int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot) {
          float* const in = scratch + slot * sizes.stride;
          Shares::Walk walk(panels, slot);
          int64_t panel = walk.next();
          if (panel >= 0) w.input(group, in, 0, g.in_blocks);
          for (; panel >= 0; panel = walk.next())
            w.run_panel(group, in, in + in_floats, panel, in + sizes.group + sizes.part);
        }
      });
      continue;
    }
    float* const out = scratch + in_floats;
    c.parallel(g.in_blocks, 1, [&](int64_t begin, int64_t end) { w.input(group, scratch, begin, end); });
    if (g.parts) {
      const int64_t slots = task_slots(g.points, c.threads());
      for_each_task(c, slots, [&](int64_t slot, int64_t) {
        w.multiply_parts(group, scratch, out, slot * g.points / slots, (slot + 1) * g.points / slots,
                         scratch + slot * sizes.stride + sizes.group);
      });
    } else {
      c.parallel(w.products(), 4,
                 [&](int64_t begin, int64_t end) { w.multiply(group, scratch, out, begin, end); });
    }
    c.parallel(g.out_blocks, 1, [&](int64_t begin, int64_t end) { w.output(group, out, begin, end); });
  }
}

}  // namespace lathe::cpu
