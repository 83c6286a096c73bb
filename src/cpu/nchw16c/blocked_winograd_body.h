// Winograd's transforms for one instruction set. Included by for_each_isa.h only.
//
// Both transform first the columns of a tile, then its rows. Lanes are channels, which are never combined
// with one another.

/// A whole vector of channels, or eight of them.
template <class V>
struct Lanes {
  static constexpr int64_t count = Vec::width;
  static LATHE_INLINE V from(const float* p) { return load(p); }
  static LATHE_INLINE V all(float x) { return set(x); }
};
template <>
struct Lanes<std::conditional_t<std::is_same_v<Eight, Vec>, void, Eight>> {
  static constexpr int64_t count = channel_block / 2;
  static LATHE_INLINE Eight from(const float* p) { return load_eight(p); }
  static LATHE_INLINE Eight all(float x) { return set_eight(x); }
};

/// Evaluates one column or row of a tile of the image at the points 0, 1, -1 (, 2, -2) and infinity.
template <class V>
LATHE_INLINE void winograd_points(const V (&d)[4], V (&to)[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[3] - d[1];
}
template <class V>
LATHE_INLINE void winograd_points(const V (&d)[6], V (&to)[6]) {
  const V four = Lanes<V>::all(4), two = Lanes<V>::all(2), minus_four = Lanes<V>::all(-4),
          minus_five = Lanes<V>::all(-5);
  const V even = fma(minus_four, d[2], d[4]), odd = fma(minus_four, d[1], d[3]);
  const V even2 = d[4] - d[2], odd2 = two * (d[3] - d[1]);
  to[0] = fma(four, d[0], fma(minus_five, d[2], d[4]));
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = fma(four, d[1], fma(minus_five, d[3], d[5]));
}

/// The output transform: computes the outputs of one column or row from its points, except for a factor.
/// Weights at the points are not divided by the divisors of the interpolation: 2 at 1 and -1 of four points,
/// 4, -6, -6, 24 and 24 at the first five of six. Products are divided here, where sums take as long with a
/// factor as without.
LATHE_INLINE void winograd_outputs(const Vec (&p)[4], Vec (&to)[2]) {
  to[0] = fma(set(2), p[0], p[1] + p[2]);
  to[1] = fma(set(2), p[3], p[1] - p[2]);
}
LATHE_INLINE void winograd_outputs(const Vec (&p)[6], Vec (&to)[4]) {
  const Vec sum = p[1] + p[2], difference = p[1] - p[2], sum2 = p[3] + p[4], difference2 = p[3] - p[4];
  to[0] = fma(set(-1.5f), p[0], fma(set(-0.25f), sum2, sum));
  to[1] = fma(set(-0.5f), difference2, difference);
  to[2] = sum - sum2;
  to[3] = fma(set(-6), p[5], fma(set(-2), difference2, difference));
}
/// The same for two outputs of five taps each.
LATHE_INLINE void winograd_outputs(const Vec (&p)[6], Vec (&to)[2]) {
  to[0] = fma(set(-1.5f), p[0], fma(set(-0.25f), p[3] + p[4], p[1] + p[2]));
  to[1] = fma(set(-6), p[5], fma(set(-0.5f), p[3] - p[4], p[1] - p[2]));
}
/// The factor for both columns and rows.
template <int Size>
constexpr float winograd_scale = Size == 4 ? 1.0f / 4 : 1.0f / 36;

template <class V, int Size>
LATHE_INLINE void winograd_input_tile(const float* from, int64_t row, float* to, int64_t point) {
  V columns[Size][Size];
  LATHE_UNROLL
  for (int j = 0; j < Size; ++j) {
    V in[Size], out[Size];
    LATHE_UNROLL
    for (int i = 0; i < Size; ++i) in[i] = Lanes<V>::from(from + i * row + j * channel_block);
    winograd_points(in, out);
    LATHE_UNROLL
    for (int i = 0; i < Size; ++i) columns[i][j] = out[i];
  }
  LATHE_UNROLL
  for (int i = 0; i < Size; ++i) {
    V out[Size];
    winograd_points(columns[i], out);
    LATHE_UNROLL
    for (int j = 0; j < Size; ++j) store(to + (i * Size + j) * point, out[j]);
  }
}

/// Copies `lanes` lanes of a tile that reaches beyond the image, with zeros there.
template <class V, int Size>
LATHE_INLINE void winograd_border(const BlockedShape& s, const float* image, int64_t y, int64_t x,
                                  int64_t lanes, float* to) {
  const int64_t first = x < 0 ? -x : 0, end = x + Size > s.in[1] ? s.in[1] - x : Size;
  for (int64_t i = y; i < y + Size; ++i, to += Size * channel_block) {
    const bool inside = i >= 0 && i < s.in[0];
    for (int64_t v = 0; v < lanes; v += Lanes<V>::count) {
      int64_t j = 0;
      const int64_t left = inside && first < end ? first : Size;
      for (; j < left; ++j) store(to + j * channel_block + v, Lanes<V>::all(0));
      for (const float* from = image + (i * s.in[1] + x) * channel_block + v; j < end; ++j)
        store(to + j * channel_block + v, Lanes<V>::from(from + j * channel_block));
      for (; j < Size; ++j) store(to + j * channel_block + v, Lanes<V>::all(0));
    }
  }
}

template <class V, int Output, int Taps>
LATHE_INLINE void winograd_input_row(const WinogradRow& r, int64_t lanes) {
  constexpr int size = Output + Taps - 1;
  const BlockedShape& s = *r.shape;
  float border[size * size * channel_block];
  const int64_t y = r.row * Output - s.pad[0];
  for (int64_t i = 0; i < r.tiles; ++i) {
    const int64_t x = (r.column + i) * Output - s.pad[1];
    const float* from = border;
    int64_t row = size * channel_block;
    if (y >= 0 && x >= 0 && y + size <= s.in[0] && x + size <= s.in[1]) {
      from = r.x + (y * s.in[1] + x) * channel_block;
      row = s.in[1] * channel_block;
    } else {
      winograd_border<V, size>(s, r.x, y, x, lanes, border);
    }
    float* const to = r.points + i * r.tile;
    for (int64_t v = 0; v < lanes; v += Lanes<V>::count)
      winograd_input_tile<V, size>(from + v, row, to + v, r.point);
  }
}

/// Lanes without channels are skipped if that saves half of the work: products never read them.
template <int Output, int Taps>
void winograd_input(const WinogradRow& r) {
  constexpr int64_t eight = channel_block / 2;
  if (r.channels <= eight)
    winograd_input_row<Eight, Output, Taps>(r, eight);
  else
    winograd_input_row<Vec, Output, Taps>(r, channel_block);
}

template <int Output, int Taps, bool adds>
LATHE_INLINE void winograd_output_tile(const float* from, int64_t point, Vec bias, Vec least, Vec greatest,
                                       const float* added, float* to, int64_t row, int64_t rows,
                                       int64_t columns) {
  constexpr int size = Output + Taps - 1;
  Vec half[Output][size];
  LATHE_UNROLL
  for (int j = 0; j < size; ++j) {
    Vec in[size], out[Output];
    LATHE_UNROLL
    for (int i = 0; i < size; ++i) in[i] = load(from + (i * size + j) * point);
    winograd_outputs(in, out);
    LATHE_UNROLL
    for (int i = 0; i < Output; ++i) half[i][j] = out[i];
  }
  LATHE_UNROLL
  for (int i = 0; i < Output; ++i) {
    Vec out[Output];
    winograd_outputs(half[i], out);
    LATHE_UNROLL
    for (int j = 0; j < Output; ++j)
      if (i < rows && j < columns) {
        const int64_t at = i * row + j * channel_block;
        Vec y = fma(set(winograd_scale<size>), out[j], bias);
        if constexpr (adds) y = y + load(added + at);
        store(to + at, min(greatest, max(least, y)));
      }
  }
}

template <int Output, int Taps, bool adds>
LATHE_INLINE void winograd_output_row(const WinogradRow& r) {
  const BlockedShape& s = *r.shape;
  const int64_t row = s.out[1] * channel_block, y = r.row * Output;
  const Vec least = set(r.bounds.least), greatest = set(r.bounds.greatest);
  for (int64_t v = 0; v < channel_block; v += Vec::width) {
    const Vec bias = load(r.bias + v);
    for (int64_t i = 0; i < r.tiles; ++i) {
      const int64_t x = (r.column + i) * Output;
      if (i + 2 < r.tiles) {  // the output may not be in a cache (2 % of U-Net and VGG-16 on a Zen 5)
        const int64_t soon = y * row + (x + 2 * Output) * channel_block + v;
        LATHE_UNROLL
        for (int64_t a = 0; a < Output; ++a) {
          LATHE_UNROLL
          for (int64_t b = 0; b < Output; ++b) {
            prefetch(r.y + soon + a * row + b * channel_block);
            if constexpr (adds) prefetch(r.added + soon + a * row + b * channel_block);
          }
        }
      }
      const int64_t at = y * row + x * channel_block + v;
      winograd_output_tile<Output, Taps, adds>(r.points + i * r.tile + v, r.point, bias, least, greatest,
                                               adds ? r.added + at : nullptr, r.y + at, row, s.out[0] - y,
                                               s.out[1] - x);
    }
  }
}

template <int Output, int Taps>
void winograd_output(const WinogradRow& r) {
  r.added ? winograd_output_row<Output, Taps, true>(r) : winograd_output_row<Output, Taps, false>(r);
}

#include "cpu/nchw16c/winograd_gate_body.h"

constexpr WinogradKernels table{
    .input = {winograd_input<2, 3>, winograd_input<4, 3>, winograd_input<2, 5>},
    .output = {winograd_output<2, 3>, winograd_output<4, 3>, winograd_output<2, 5>},
    .look = {mark_tiles<2, 3>, mark_tiles<4, 3>, mark_tiles<2, 5>},
    .add_direct = {add_direct_tile<2, 3>, add_direct_tile<4, 3>, add_direct_tile<2, 5>},
    .store_direct = {store_direct_tile<2>, store_direct_tile<4>, store_direct_tile<2>}};
