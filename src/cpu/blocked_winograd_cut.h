// How a convolution by Winograd's filtering is cut into groups of tiles, for how many threads, what its
// products are made of, and roughly what it takes.
#pragma once

#include <algorithm>
#include <optional>

#include "cpu/blocked_parts.h"
#include "cpu/blocked_tile.h"
#include "cpu/blocked_winograd.h"
#include "cpu/ceil_of.h"
#include "cpu/tasks.h"
#include "cpu/winograd_parts.h"
#include "cpu/winograd_turned.h"
#include "cpu/winograd_weights.h"

namespace lathe::cpu {

/// Floats that the points of a group may take.
inline constexpr int64_t group_floats = int64_t{1} << 17;
/// Tiles of a group that make reading the weights worth it.
inline constexpr int64_t fewest_tiles = 28;
/// The same where weights are split into parts; but no more floats than this.
inline constexpr int64_t parts_tiles = 112, most_parts_floats = int64_t{1} << 21;
/// Weights at the points, in floats, that stay in a cache.
inline constexpr double cached_points = 3e6;
/// Turned weights are evaluated a panel of filters at a time, so many floats at the points together, and
/// multiplied while they stay in the second-level cache. As many tiles as make that worth it, but no more
/// floats of them. Fewer weights at the points than this are evaluated at once: they stay there as a whole.
inline constexpr int64_t turned_piece = int64_t{72} << 10, many_tiles = 64,
                         most_turned_floats = int64_t{1} << 21, evaluated_at_once = int64_t{160} << 10;
/// Multiplications below which a second thread is not worth it; tiles that pay for reading all weights once
/// more, and filters for evaluating all of the image once more.
inline constexpr double least_shared = 1 << 19;
inline constexpr int64_t tiles_apart = 8, filters_apart = 64;

inline bool fits_registers(Isa isa, Filtering f, int64_t tiles) {
  return f == Filtering{4, 3} && tiles <= turned_tiles(isa).max_tiles;
}

/// Where turned weights are evaluated.
enum class Evaluation { none, at_once, by_pieces, in_registers };

/// Roughly what F takes for each pair of channels, in multiplications, with weights at the points, or turned;
/// direct convolution for output 0. Few tiles wait for their weights.
struct WinogradCost {
  WinogradCost(Isa isa, const BlockedShape& s, Filtering f) {
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

/// How many nanoseconds less the products of one image take by parts than by vectors, roughly; negative
/// where they take longer. `group`: tiles that are multiplied at once.
inline double saved_by_parts(const BlockedShape& s, Filtering f, int64_t group) {
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
struct WinogradGroups {
  WinogradGroups(Isa isa, const BlockedShape& s, Filtering f, bool turned, int threads = 1)
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
  /// Weights from point to point. Those that are evaluated at once are written to all points in turn, which
  /// must not be of few sets of the caches.
  int64_t weights_point(const BlockedShape& s) const {
    const bool in_turn = evaluation == Evaluation::at_once && !parts;
    return s.channels * out_blocks * channel_block + (in_turn ? channel_block : 0);
  }

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
    const bool many = winograd_points_size(s, f) > evaluated_at_once;
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

/// So many groups are tasks of single threads; all threads work together on each of the others, where it has
/// enough multiplications to be worth three loops of all threads: each costs as long as some hundred
/// thousand. One loop is enough where each thread evaluates all of the image for its filters.
inline int64_t groups_apart(const WinogradGroups& g, int threads) {
  const double least = g.by_panels ? least_shared : 4 * least_shared;
  const double work =
      static_cast<double>(g.points * g.in_point()) * static_cast<double>(g.out_blocks * channel_block);
  if (threads == 1 || g.count >= int64_t{8} * threads || work < least) return g.count;
  return g.count < (g.parts ? 2 : 1) * threads ? 0 : g.count / threads * threads;
}
inline int64_t slots_of(const WinogradGroups& g, int threads) {
  const int64_t apart = groups_apart(g, threads), shared = g.by_panels && apart < g.count ? g.panels() : 1;
  return task_slots(std::max(apart, shared), threads);
}
/// Floats of scratch for products by parts, of every thread; with what it takes to begin with a line.
inline int64_t parts_floats(const WinogradGroups& g) {
  return g.parts ? (g.parts->scratch() + 64) / static_cast<int64_t>(sizeof(float)) : 0;
}
/// Of groups apart one for each, of the others one for each piece of their points.
inline int64_t parts_slots(const WinogradGroups& g, int threads) {
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

}  // namespace lathe::cpu
