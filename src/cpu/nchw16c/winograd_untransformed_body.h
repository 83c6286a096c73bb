// The micro-kernels of winograd_untransformed.h for one instruction set. Included by for_each_isa.h only.

#include "cpu/nchw16c/winograd_weight_body.h"

constexpr int max_untransformed_tiles = Vec::width == 16 ? 4 : 2;

template <int Row, int Tiles>
struct UntransformedSums {
  static constexpr int points = UntransformedTiles::points;
  Vec sum[points][Tiles];

  /// Adds the products of one channel.
  LATHE_INLINE void add(const float* w, const float* x, int64_t x_point) {
    Vec column[3];
    LATHE_UNROLL
    for (int j = 0; j < 3; ++j) {
      const float* const tap = w + j * channel_block;
      column[j] = weight_at<Row>(load(tap), load(tap + 3 * channel_block), load(tap + 6 * channel_block));
    }
    add_points(column, x, x_point, std::make_integer_sequence<int, points>());
  }
  template <int... Point>
  LATHE_INLINE void add_points(const Vec (&w)[3], const float* x, int64_t x_point,
                               std::integer_sequence<int, Point...>) {
    (add_point<Point>(weight_at<Point>(w[0], w[1], w[2]), x + Point * x_point), ...);
  }
  template <int Point>
  LATHE_INLINE void add_point(Vec weight, const float* x) {
    LATHE_UNROLL
    for (int i = 0; i < Tiles; ++i) sum[Point][i] = fma(set(x[i * channel_block]), weight, sum[Point][i]);
  }
};

template <int Row, int Tiles>
LATHE_INLINE void untransformed_lanes(const UntransformedTile& t, int64_t lane) {
  constexpr int points = UntransformedTiles::points;
  UntransformedSums<Row, Tiles> s;
  float* const y = t.y + lane;
  LATHE_UNROLL
  for (int p = 0; p < points; ++p) {
    LATHE_UNROLL
    for (int i = 0; i < Tiles; ++i)
      s.sum[p][i] = t.adds ? load(y + p * t.y_point + i * channel_block) : zero();
  }
  const float* w = t.w + lane;
  const float* next = t.next;
  for (int64_t block = 0; block < t.channels; block += channel_block) {
    const float* x = t.x + block / channel_block * t.x_block;
    const float* const end = x + (t.channels - block < channel_block ? t.channels - block : channel_block);
    LATHE_ROLLED
    for (; x < end; ++x, w += t.w_channel) {
      if (next) {
        __builtin_prefetch(next, 0, 2);
        __builtin_prefetch(next + channel_block, 0, 2);
        next += t.next_channel;
      }
      s.add(w, x, t.x_point);
    }
  }
  LATHE_UNROLL
  for (int p = 0; p < points; ++p) {
    LATHE_UNROLL
    for (int i = 0; i < Tiles; ++i) store(y + p * t.y_point + i * channel_block, s.sum[p][i]);
  }
}
template <int Row, int Tiles>
void untransformed_tile(const UntransformedTile& t) {
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width) untransformed_lanes<Row, Tiles>(t, lane);
}

template <int Row, int... Tiles>
constexpr void fill_untransformed_row(UntransformedTiles& t, std::integer_sequence<int, Tiles...>) {
  ((t.run[Row][Tiles + 1] = untransformed_tile<Row, Tiles + 1>), ...);
}
template <int... Row>
constexpr UntransformedTiles all_untransformed_tiles(std::integer_sequence<int, Row...>) {
  UntransformedTiles t{.max_tiles = max_untransformed_tiles};
  (fill_untransformed_row<Row>(t, std::make_integer_sequence<int, max_untransformed_tiles>()), ...);
  return t;
}
constexpr UntransformedTiles table =
    all_untransformed_tiles(std::make_integer_sequence<int, UntransformedTiles::points>());
