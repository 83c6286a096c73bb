// How a convolution by Winograd's filtering is divided into groups of tiles, for a number of threads, how its
// products are computed, and estimates of its time.
#pragma once

#include <algorithm>
#include <optional>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/nchw16c/blocked_tile.h"
#include "cpu/nchw16c/blocked_winograd.h"
#include "cpu/nchw16c/winograd_bf16x3.h"
#include "cpu/nchw16c/winograd_untransformed.h"
#include "cpu/nchw16c/winograd_weights.h"
#include "cpu/tasks.h"

namespace lathe::cpu {

/// Floats that the points of a group may take.
inline constexpr int64_t group_floats = int64_t{1} << 17;
/// The fewest tiles of a group for which reading the weights is worth it.
inline constexpr int64_t min_tiles = 28;
/// The same if weights are split into parts; but groups have no more than max_bf16x3_floats.
inline constexpr int64_t bf16x3_tiles = 112, max_bf16x3_floats = int64_t{1} << 21;
/// Weights at the points, in floats, that stay in a cache.
inline constexpr double cached_points = 3e6;
/// Untransformed weights are evaluated a panel of filters at a time, untransformed_piece floats at the points
/// at once, and multiplied while they stay in the second-level cache. Groups have many_tiles tiles to make
/// that worth it, but no more than max_untransformed_floats. Up to evaluated_at_once weights at the points
/// are evaluated at once: all of them stay there.
inline constexpr int64_t untransformed_piece = int64_t{72} << 10, many_tiles = 64,
                         max_untransformed_floats = int64_t{1} << 21, evaluated_at_once = int64_t{160} << 10;
/// Multiplications below which a second thread is not worth it; tiles that are worth reading all weights once
/// more, and filters that are worth evaluating the whole image once more.
inline constexpr double min_shared = 1 << 19;
inline constexpr int64_t tiles_apart = 8, filters_apart = 64;

inline bool fits_registers(Isa isa, Filtering f, int64_t tiles) {
  return f == Filtering{4, 3} && tiles <= untransformed_tiles(isa).max_tiles;
}

/// When untransformed weights are evaluated.
enum class Evaluation { none, at_once, by_pieces, in_registers };

/// Estimates the time of F for each pair of channels, in multiplications, with transformed or untransformed
/// weights; of direct convolution if the output is 0. If there are few tiles, reading weights takes most of
/// it.
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
    untransformed =
        std::max(points * (tiles * (1 + around) + evaluated), static_cast<double>(s.taps()) * from_memory);
  }
  double at_points, untransformed;
};

/// Estimates how many nanoseconds bf16x3 saves for the products of one image; negative if it takes longer.
/// `group`: tiles that are multiplied at once.
inline double saved_by_bf16x3(const BlockedShape& s, Filtering f, int64_t group) {
  // Measured on one thread of one processor: products of vectors in a nanosecond; in nanoseconds, two blocks
  // of channels of up to 32 tiles times a panel of filters, splitting its weights in addition, and the least
  // for both; splitting two blocks of a tile; and the cost of larger groups for a vector of a point.
  constexpr double products = 105, run = 112, split_weights = 45, least = 130, split_tile = 4, larger = 3.2;
  // In floating point, since numbers from plans may be of any size.
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

/// Divides the tiles into groups: whole rows of tiles, or pieces of one row, or, if several threads are to
/// have equally many, any consecutive tiles. Rows are counted through all images. Whether products are
/// computed in bf16x3 depends on the shape of one image alone, and results depend on nothing else.
struct WinogradGroups {
  WinogradGroups(Isa isa, const BlockedShape& s, Filtering f, bool untransformed, int threads = 1)
      : points(f.points()),
        image_rows(ceil_of(s.out[0], f.output)),
        image_columns(ceil_of(s.out[1], f.output)),
        all_rows(s.batch * image_rows),
        in_blocks(s.in_blocks()),
        out_blocks(s.out_blocks()),
        panel_blocks(blocked_tiles(isa).panel_blocks) {
    const int64_t tile = points * (in_blocks + out_blocks) * channel_block;
    const int64_t group = s.group > 0 ? s.group : group_floats;
    if (fits_bf16x3(isa, s)) {
      const int64_t wanted = std::min(bf16x3_tiles * group / group_floats, max_bf16x3_floats / tile);
      cut(wanted, image_rows);
      saved = saved_by_bf16x3(s, f, tiles);
      cut(wanted, all_rows);
      if (saved > 0) bf16x3.emplace(s.channels, s.filters, tiles);
    }
    if (untransformed) evaluation = evaluation_of(isa, s, f);
    if (bf16x3) return;
    int64_t wanted = std::max(min_tiles, group / tile);
    if (evaluation == Evaluation::by_pieces)
      wanted = std::max(wanted, std::min(many_tiles, max_untransformed_floats / tile));
    cut(wanted, all_rows);
    if (evaluation == Evaluation::by_pieces || evaluation == Evaluation::in_registers)
      by_panels = true;
    else
      share(threads, s.filters);
  }
  /// The first tile of a group, counted through all tiles.
  int64_t begin(int64_t i) const {
    return whole_rows ? i * all_rows / count * image_columns : i * all_tiles() / count;
  }
  int64_t all_tiles() const { return all_rows * image_columns; }
  int64_t panels() const { return ceil_of(out_blocks, panel_blocks); }
  // Points are [point][block][tile][16]; products in bf16x3 are [point][pair of blocks][tile][32]. Points are
  // an odd number of lines apart: an even one would map them to few sets of the caches.
  int64_t in_point() const { return (in_blocks * tiles | 1) * channel_block; }
  int64_t out_point() const {
    return bf16x3 ? bf16x3->point() : ((by_panels ? panel_blocks : out_blocks) * tiles | 1) * channel_block;
  }
  int64_t out_tile() const { return bf16x3 ? bf16x3_panel_filters : channel_block; }
  int64_t out_block(int64_t block) const {
    if (!bf16x3) return (by_panels ? block % panel_blocks : block) * tiles * channel_block;
    return block / bf16x3_panel_blocks * bf16x3->panel() + block % bf16x3_panel_blocks * channel_block;
  }
  int64_t floats() const { return points * (in_point() + out_point()); }
  /// The weights from point to point. Weights that are evaluated at once are written to all points in turn,
  /// which must not map to few sets of the caches.
  int64_t weights_point(const BlockedShape& s) const {
    const bool in_turn = evaluation == Evaluation::at_once && !bf16x3;
    return s.channels * out_blocks * channel_block + (in_turn ? channel_block : 0);
  }

  int64_t points, image_rows, image_columns, all_rows, in_blocks, out_blocks, panel_blocks;
  int64_t count = 1, tiles = 1;          // groups, and tiles of the largest
  bool whole_rows = true;                // true if each group has whole rows
  bool by_panels = false;                // true if the products of only one panel are stored
  double saved = 0;                      // nanoseconds that bf16x3 saves for an image
  std::optional<PointsDivision> bf16x3;  // set if products are computed in bf16x3
  Evaluation evaluation = Evaluation::none;

 private:
  Evaluation evaluation_of(Isa isa, const BlockedShape& s, Filtering f) const {
    if (bf16x3) return Evaluation::at_once;
    if (fits_registers(isa, f, all_tiles())) return Evaluation::in_registers;
    const bool many = winograd_points_size(s, f) > evaluated_at_once;
    return many ? Evaluation::by_pieces : Evaluation::at_once;
  }
  /// Makes groups of about `wanted` tiles, from `rows` rows.
  void cut(int64_t wanted, int64_t rows) {
    const int64_t of_row = ceil_of(image_columns, std::max<int64_t>(wanted, 1));
    whole_rows = of_row == 1;
    count = whole_rows ? ceil_of(rows, std::clamp<int64_t>(wanted / image_columns, 1, rows)) : rows * of_row;
    tiles = whole_rows ? ceil_of(rows, count) * image_columns : ceil_of(image_columns, of_row);
  }
  /// Gives every thread equally many tiles, or filters: threads that share a group read what others have just
  /// written, and wait for them.
  void share(int threads, int64_t filters) {
    const double work = static_cast<double>(points * all_tiles() * in_blocks) *
                        static_cast<double>(out_blocks * channel_block * channel_block);
    if (threads == 1 || count >= int64_t{8} * threads || work < min_shared) return;
    if (all_tiles() >= tiles_apart * threads) {
      count = ceil_of(count, threads) * threads;
      whole_rows = count <= all_rows && all_rows % threads == 0;
      tiles = whole_rows ? ceil_of(all_rows, count) * image_columns : ceil_of(all_tiles(), count);
    } else if (count == 1 && filters >= filters_apart * threads) {
      by_panels = ceil_of(panels(), threads) * threads * 8 <= panels() * 9;
    }
  }
};

/// The number of groups that are tasks of single threads. All threads share each of the others, if it has
/// enough multiplications to be worth three loops of all threads: each costs as much as some hundred
/// thousand. One loop is enough if each thread evaluates the whole image for its filters.
inline int64_t groups_apart(const WinogradGroups& g, int threads) {
  const double least = g.by_panels ? min_shared : 4 * min_shared;
  const double work =
      static_cast<double>(g.points * g.in_point()) * static_cast<double>(g.out_blocks * channel_block);
  if (threads == 1 || g.count >= int64_t{8} * threads || work < least) return g.count;
  return g.count < (g.bf16x3 ? 2 : 1) * threads ? 0 : g.count / threads * threads;
}
inline int64_t slots_of(const WinogradGroups& g, int threads) {
  const int64_t apart = groups_apart(g, threads), shared = g.by_panels && apart < g.count ? g.panels() : 1;
  return task_slots(std::max(apart, shared), threads);
}
/// Floats of scratch of every thread for products in bf16x3, including the alignment to a line.
inline int64_t bf16x3_floats(const WinogradGroups& g) {
  return g.bf16x3 ? (g.bf16x3->scratch() + 64) / static_cast<int64_t>(sizeof(float)) : 0;
}
/// Slots for bf16x3: one for each separate group, and for shared groups one for each piece of their points.
inline int64_t bf16x3_slots(const WinogradGroups& g, int threads) {
  return g.bf16x3 ? std::max(slots_of(g, threads), task_slots(g.points, threads)) : 0;
}

/// An evaluated piece of untransformed weights: [point][channel][filter of a panel].
struct UntransformedPiece {
  UntransformedPiece(Isa isa, const BlockedShape& s, Filtering f)
      : filters(std::min(blocked_tiles(isa).panel_filters(), s.out_blocks() * channel_block)),
        channels(std::clamp(untransformed_piece / (f.points() * filters) / channel_block, int64_t{1},
                            s.in_blocks()) *
                 channel_block),
        point(channels * filters + 16),
        floats(f.points() * point) {}
  int64_t filters, channels;
  int64_t point;  // points are no power of two apart, which would map their lines to few sets of the cache
  int64_t floats;
};

}  // namespace lathe::cpu
