// Winograd's F(2, 3) of bytes for one instruction set. Included by for_each_isa.h only.

#include "cpu/quantized/requantize_body.h"

constexpr int filter_vectors = static_cast<int>(channel_block / Vec::width);
constexpr int point_rows = Vec::width == 16 ? 12 : Vec::width == 8 ? 6 : 2;

/// Evaluates one column of a tile at the points 0, 1, -1 and infinity.
LATHE_INLINE void column_at_points(const uint8_t* x, int64_t row, I16 (&to)[4]) {
  const I16 a = load_u8_as_i16(x), b = load_u8_as_i16(x + row), c = load_u8_as_i16(x + 2 * row),
            d = load_u8_as_i16(x + 3 * row);
  to[0] = a - c;
  to[1] = b + c;
  to[2] = c - b;
  to[3] = d - b;
}

/// Tiles share two columns with the tile to the left.
inline void tiles_in(const Int8TilesIn& t) {
  for (int64_t lane = 0; lane < channel_block; lane += I16::count) {
    const uint8_t* x = t.x + lane;
    int16_t* to = t.points + lane;
    I16 a[4], b[4], c[4], d[4];
    column_at_points(x, t.row, a);
    column_at_points(x + channel_block, t.row, b);
    for (int64_t i = 0; i < t.tiles; ++i, to += t.tile) {
      x += 2 * channel_block;
      column_at_points(x, t.row, c);
      column_at_points(x + channel_block, t.row, d);
      LATHE_UNROLL
      for (int k = 0; k < 4; ++k) {
        int16_t* const points = to + 4 * k * t.point;
        store_i16(points, a[k] - c[k]);
        store_i16(points + t.point, b[k] + c[k]);
        store_i16(points + 2 * t.point, c[k] - b[k]);
        store_i16(points + 3 * t.point, d[k] - b[k]);
        a[k] = c[k];
        b[k] = d[k];
      }
    }
  }
}

template <int Rows>
void point_products(const Int8Point& p) {
  Ints sum[Rows][filter_vectors];
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < filter_vectors; ++j) sum[i][j] = set_ints(0);
  }
  const int16_t *x = p.x, *w = p.weights;
  const char* next = p.next;
  for (const int16_t* const end = x + 2 * p.pairs; x < end;
       x += 2, w += 2 * channel_block, next += p.next_step) {
    __builtin_prefetch(next, 0, 2);
    Pairs row[filter_vectors];
    LATHE_UNROLL
    for (int j = 0; j < filter_vectors; ++j) row[j] = load_pairs(w + 2 * j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Pairs pair = repeat_pair(x + i * p.tile);
      LATHE_UNROLL
      for (int j = 0; j < filter_vectors; ++j) sum[i][j] = dot(sum[i][j], pair, row[j]);
    }
  }
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < filter_vectors; ++j)
      store_ints(p.sums + i * channel_block + j * Vec::width, sum[i][j]);
  }
}

/// Computes two outputs of the four points of one column or row.
LATHE_INLINE void outputs(const Ints (&p)[4], Ints (&to)[2]) {
  to[0] = p[0] + p[1] + p[2];
  to[1] = p[1] - p[2] + p[3];
}

/// Computes the outputs of one vector of a tile's filters.
LATHE_INLINE void tile_outputs(const int32_t* sums, int64_t point, Ints start, Ints (&y)[2][2]) {
  Ints columns[2][4];
  LATHE_UNROLL
  for (int j = 0; j < 4; ++j) {
    Ints p[4], two[2];
    LATHE_UNROLL
    for (int i = 0; i < 4; ++i) p[i] = load_ints(sums + (4 * i + j) * point);
    outputs(p, two);
    columns[0][j] = two[0];
    columns[1][j] = two[1];
  }
  LATHE_UNROLL
  for (int i = 0; i < 2; ++i) {
    outputs(columns[i], y[i]);
    LATHE_UNROLL
    for (int j = 0; j < 2; ++j) y[i][j] = quartered(y[i][j]) + start;
  }
}

template <bool Adds, bool Saturates>
void requantize_tiles(const Int8TilesOut& t) {
  const BlockedShape& s = *t.shape;
  const RequantParams& g = *t.requant;
  const int64_t y0 = 2 * t.row, rows = s.out[0] - y0 < 2 ? 1 : 2;
  for (int64_t v = 0; v < channel_block; v += Vec::width) {
    const Vec factor = load(g.factor + v), shift = load(g.shift + v);
    const Ints start = load_ints(t.start + v);
    for (int64_t n = 0; n < t.tiles; ++n) {
      Ints y[2][2];
      tile_outputs(t.sums + n * channel_block + v, t.point, start, y);
      const int64_t x0 = 2 * (t.column + n), columns = s.out[1] - x0 < 2 ? 1 : 2;
      LATHE_UNROLL
      for (int i = 0; i < 2; ++i) {
        LATHE_UNROLL
        for (int j = 0; j < 2; ++j) {
          if (i >= rows || j >= columns) continue;
          const int64_t at = ((y0 + i) * s.out[1] + x0 + j) * channel_block + v;
          requantize_vector<Adds, Saturates>(g, factor, shift, y[i][j], Adds ? t.other + at : nullptr,
                                             t.y + at);
        }
      }
    }
  }
}

inline void tiles_out(const Int8TilesOut& t) {
  if (t.requant->saturates)
    t.requant->adds ? requantize_tiles<true, true>(t) : requantize_tiles<false, true>(t);
  else
    t.requant->adds ? requantize_tiles<true, false>(t) : requantize_tiles<false, false>(t);
}

template <int... Rows>
constexpr Int8WinogradKernels make_winograd(std::integer_sequence<int, Rows...>) {
  Int8WinogradKernels k{.rows = point_rows, .in = tiles_in, .out = tiles_out};
  ((k.products[Rows + 1] = point_products<Rows + 1>), ...);
  return k;
}
constexpr Int8WinogradKernels table = make_winograd(std::make_integer_sequence<int, point_rows>());
