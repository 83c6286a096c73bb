// Filters transposed and transformed, for one instruction set. Included by for_each_isa.h only.

#include "cpu/nchw16c/winograd_weight_body.h"

template <bool whole>
LATHE_INLINE void transpose_square(const float* from, int64_t row, int64_t filters, int64_t n, float* to) {
  Vec square[Vec::width];
  load_transposed<whole>(square, from, row, filters, n);
  LATHE_UNROLL
  for (int64_t i = 0; i < Vec::width; ++i)
    if (whole || i < n) store(to + i * channel_block, square[i]);
}

void transpose_filters(const float* from, int64_t row, int64_t filters, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t depth = n - i < Vec::width ? n - i : Vec::width;
    for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
      const int64_t left = filters - lane;
      const float* const p = from + lane * row + i;
      float* const q = to + i * channel_block + lane;
      if (left >= Vec::width && depth == Vec::width)
        transpose_square<true>(p, row, left, depth, q);
      else
        transpose_square<false>(p, row, left, depth, q);
    }
  }
}

void gate_filters(const float* weights, const float* gates, int64_t rows, int64_t filters, float* to) {
  for (int64_t r = 0; r < rows; ++r, weights += filters, to += filters) {
    const Vec gate = set(gates[r]);
    for (int64_t i = 0; i < filters; i += Vec::width) store(to + i, load(weights + i) * gate);
  }
}

// From three taps, and from five, to the points 0, 1, -1 (, 2, -2) and infinity: the values of polynomials.
// winograd_outputs() applies the divisors of the interpolation.
constexpr double weights_to_4_points[4][3] = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 1}};
constexpr double weights_to_6_points[6][3] = {{1, 0, 0}, {1, 1, 1},  {1, -1, 1},
                                              {1, 2, 4}, {1, -2, 4}, {0, 0, 1}};
constexpr double five_weights_to_6_points[6][5] = {{1, 0, 0, 0, 0},  {1, 1, 1, 1, 1},    {1, -1, 1, -1, 1},
                                                   {1, 2, 4, 8, 16}, {1, -2, 4, -8, 16}, {0, 0, 0, 0, 1}};

/// G w G^T, in 16 lanes.
template <int Size, int Taps>
LATHE_INLINE void weights_at_points(const double (&g)[Size][Taps], const float* w, float* points,
                                    int64_t point) {
  constexpr int64_t lanes = channel_block;
  double half[Size][Taps][lanes] = {};
  for (int i = 0; i < Size; ++i)
    for (int j = 0; j < Taps; ++j)
      for (int t = 0; t < Taps; ++t)
        for (int64_t l = 0; l < lanes; ++l)
          half[i][j][l] += g[i][t] * static_cast<double>(w[(t * Taps + j) * lanes + l]);
  for (int i = 0; i < Size; ++i)
    for (int j = 0; j < Size; ++j) {
      double sum[lanes] = {};
      for (int t = 0; t < Taps; ++t)
        for (int64_t l = 0; l < lanes; ++l) sum[l] += half[i][t][l] * g[j][t];
      float* const to = points + (i * Size + j) * point;
      for (int64_t l = 0; l < lanes; ++l) to[l] = static_cast<float>(sum[l]);
    }
}
void weights_at_4_points(const float* w, float* points, int64_t point) {
  weights_at_points(weights_to_4_points, w, points, point);
}
void weights_at_6_points(const float* w, float* points, int64_t point) {
  weights_at_points(weights_to_6_points, w, points, point);
}
void five_weights_at_6_points(const float* w, float* points, int64_t point) {
  weights_at_points(five_weights_to_6_points, w, points, point);
}

/// Evaluates a row or column of weights at the points 0, 1, -1 and infinity.
LATHE_INLINE void quick_points(const Vec (&w)[3], Vec (&to)[4]) {
  const Vec even = w[0] + w[2];
  to[0] = w[0], to[1] = even + w[1], to[2] = even - w[1], to[3] = w[2];
}
template <int... Point>
LATHE_INLINE void quick_points(const Vec (&w)[3], Vec (&to)[6], std::integer_sequence<int, Point...>) {
  ((to[Point] = weight_at<Point>(w[0], w[1], w[2])), ...);
}
/// The same at 0, 1, -1, 2, -2 and infinity.
LATHE_INLINE void quick_points(const Vec (&w)[3], Vec (&to)[6]) {
  quick_points(w, to, std::make_integer_sequence<int, 6>());
}
/// The same for five taps.
LATHE_INLINE void quick_points(const Vec (&w)[5], Vec (&to)[6]) {
  const Vec even = w[0] + w[2] + w[4], odd = w[1] + w[3];
  const Vec even2 = fma(set(4), fma(set(4), w[4], w[2]), w[0]), odd2 = fma(set(4), w[3], w[1]);
  to[0] = w[0], to[1] = even + odd, to[2] = even - odd;
  to[3] = fma(set(2), odd2, even2), to[4] = fma(set(-2), odd2, even2), to[5] = w[4];
}
template <int Size, int Taps>
LATHE_INLINE void quick_weights_at_points(const float* weights, float* points, int64_t point) {
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
    const float* const w = weights + lane;
    Vec column[Taps][Size];
    LATHE_UNROLL
    for (int j = 0; j < Taps; ++j) {
      Vec in[Taps];
      LATHE_UNROLL
      for (int i = 0; i < Taps; ++i) in[i] = load(w + (i * Taps + j) * channel_block);
      quick_points(in, column[j]);
    }
    LATHE_UNROLL
    for (int i = 0; i < Size; ++i) {
      Vec in[Taps], row[Size];
      LATHE_UNROLL
      for (int j = 0; j < Taps; ++j) in[j] = column[j][i];
      quick_points(in, row);
      LATHE_UNROLL
      for (int j = 0; j < Size; ++j) store(points + (i * Size + j) * point + lane, row[j]);
    }
  }
}
void quick_weights_at_4_points(const float* w, float* points, int64_t point) {
  quick_weights_at_points<4, 3>(w, points, point);
}
void quick_weights_at_6_points(const float* w, float* points, int64_t point) {
  quick_weights_at_points<6, 3>(w, points, point);
}
void quick_five_weights_at_6_points(const float* w, float* points, int64_t point) {
  quick_weights_at_points<6, 5>(w, points, point);
}

constexpr FilterKernels table = {
    transpose_filters,
    gate_filters,
    {weights_at_4_points, weights_at_6_points, five_weights_at_6_points},
    {quick_weights_at_4_points, quick_weights_at_6_points, quick_five_weights_at_6_points}};
