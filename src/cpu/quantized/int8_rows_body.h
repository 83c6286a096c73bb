// The functions of int8_rows.h for one instruction set. Included by for_each_isa.h only.

#include "cpu/quantized/requantize_body.h"

/// Clamps a quantized number, to which the zero point is not yet added; NaN gives 0.
LATHE_INLINE Vec clamp_quantized(Vec q, Vec low, Vec high) {
  return min(max(select(is_nan(q), zero(), q), low), high);
}

LATHE_INLINE void quantize_vector(const float* x, uint8_t* y, Vec scale, Ints zero, Vec low, Vec high) {
  store_u8(y, to_ints(clamp_quantized(load(x) / scale, low, high)) + zero);
}
void quantize(const float* x, void* to, int64_t n, float scale, int32_t zero_point, int32_t lowest) {
  auto* const y = static_cast<uint8_t*>(to);
  const Vec by = set(scale), low = set(static_cast<float>(lowest - zero_point)),
            high = set(static_cast<float>(lowest + 255 - zero_point));
  const Ints zero = set_ints(zero_point);
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width) quantize_vector(x + i, y + i, by, zero, low, high);
  if (i == n) return;
  float rest[Vec::width] = {};
  uint8_t bytes[Vec::width];
  std::memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(float));
  quantize_vector(rest, bytes, by, zero, low, high);
  std::memcpy(y + i, bytes, static_cast<size_t>(n - i));
}

LATHE_INLINE Ints widened(const uint8_t* p) { return load_u8(p); }
LATHE_INLINE Ints widened(const int8_t* p) { return load_i8(p); }
template <class T>
void dequantize(const T* x, float* y, int64_t n, float scale, int32_t zero_point) {
  const Vec by = set(scale);
  const Ints zero = set_ints(zero_point);
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width) store(y + i, to_floats(widened(x + i) - zero) * by);
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - zero_point) * scale;
}

void range(const float* x, int64_t n, float& low, float& high) {
  constexpr int64_t together = 4 * Vec::width;
  Vec least[4], most[4];
  for (int j = 0; j < 4; ++j) least[j] = set(low), most[j] = set(high);
  int64_t i = 0;
  for (; i + together <= n; i += together) {
    LATHE_UNROLL
    for (int j = 0; j < 4; ++j) {
      const Vec v = load(x + i + j * Vec::width);
      least[j] = min(v, least[j]);
      most[j] = max(v, most[j]);
    }
  }
  low = min_of(min(min(least[0], least[1]), min(least[2], least[3])));
  high = max_of(max(max(most[0], most[1]), max(most[2], most[3])));
  for (; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
}

/// The elements of row i from column j on.
LATHE_INLINE Ints exact_sums(const Int8Sums& s, int64_t i, int64_t j) {
  const Ints sum = load_ints(s.sums + i * panel_filters + j);
  return s.column_zero ? sum - set_ints(s.row_rest[i]) * load_ints(s.column_zero + j) : sum;
}
LATHE_INLINE Vec scaled_sums(const Int8Sums& s, int64_t i, int64_t j) {
  return to_floats(exact_sums(s, i, j)) * load(s.scale + j);
}

void store_as_ints(const Int8Sums& s, int32_t* c, int64_t c_row) {
  for (int64_t i = 0; i < s.rows; ++i, c += c_row) {
    int64_t j = 0;
    for (; j + Vec::width <= s.columns; j += Vec::width) store_ints(c + j, exact_sums(s, i, j));
    if (j == s.columns) continue;
    int32_t rest[Vec::width];
    store_ints(rest, exact_sums(s, i, j));
    std::memcpy(c + j, rest, static_cast<size_t>(s.columns - j) * sizeof(int32_t));
  }
}

void store_as_floats(const Int8Sums& s, float* c, int64_t c_row) {
  for (int64_t i = 0; i < s.rows; ++i, c += c_row) {
    int64_t j = 0;
    for (; j + Vec::width <= s.columns; j += Vec::width) store(c + j, scaled_sums(s, i, j));
    if (j < s.columns) store_first(c + j, scaled_sums(s, i, j), s.columns - j);
  }
}

void store_as_bytes(const Int8Sums& s, uint8_t* c, int64_t c_row) {
  const Vec low = set(static_cast<float>(s.lowest - s.zero)),
            high = set(static_cast<float>(s.lowest + 255 - s.zero));
  const Ints zero = set_ints(s.zero);
  for (int64_t i = 0; i < s.rows; ++i, c += c_row)
    for (int64_t j = 0; j < s.columns; j += Vec::width) {
      uint8_t rest[Vec::width];
      const bool whole = j + Vec::width <= s.columns;
      store_u8(whole ? c + j : rest, to_ints(clamp_quantized(scaled_sums(s, i, j), low, high)) + zero);
      if (!whole) std::memcpy(c + j, rest, static_cast<size_t>(s.columns - j));
    }
}

LATHE_INLINE void add_vector(const Int8Addition& how, const uint8_t* a, const uint8_t* b, uint8_t* y) {
  const Vec rest = fma(to_floats(load_u8(b)), set(how.b_scale), set(how.constant));
  const Vec q = min(max(fma(to_floats(load_u8(a)), set(how.a_scale), rest), set(how.low)), set(how.high));
  store_u8(y, to_ints(q) + set_ints(how.zero));
}
void add(const Int8Addition& how, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width) add_vector(how, a + i, b + i, y + i);
  if (i == n) return;
  uint8_t rest[3][Vec::width] = {};
  std::memcpy(rest[0], a + i, static_cast<size_t>(n - i));
  std::memcpy(rest[1], b + i, static_cast<size_t>(n - i));
  add_vector(how, rest[0], rest[1], rest[2]);
  std::memcpy(y + i, rest[2], static_cast<size_t>(n - i));
}

void scale(const Int8Scaling& how, const uint8_t* x, uint8_t* y, int64_t pixels) {
  const Vec low = set(how.low), high = set(how.high);
  const Ints zero = set_ints(how.zero);
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
    const Vec factor = load(how.factor + lane), shift = load(how.shift + lane);
    for (int64_t p = 0; p < pixels; ++p) {
      const Vec q = fma(to_floats(load_u8(x + p * channel_block + lane)), factor, shift);
      store_u8(y + p * channel_block + lane, to_ints(min(max(q, low), high)) + zero);
    }
  }
}

void map(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) {
  const TableLookup t = load_table(table);
  int64_t i = 0;
  for (; i + TableLookup::width <= n; i += TableLookup::width) look_up(t, x + i, y + i);
  for (; i < n; ++i) y[i] = table[x[i]];
}

/// Computes neighboring output pixels, the lanes of one vector of each.
template <int Pixels, bool Adds, bool Saturates>
LATHE_INLINE void weigh_pixels(const Int8Windows& w, const uint8_t* x, int64_t at, int64_t lane) {
  const int64_t pixel = w.shape->stride[1] * channel_block;
  Ints sum[Pixels];
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) sum[p] = load_ints(w.start + lane);
  for (int64_t i = 0; i < w.count; ++i) {
    const uint8_t* from = x + w.steps[i] + lane;
    const SignedQuads weights = load_quads(w.weights + (i * channel_block + lane) * quad);
    LATHE_UNROLL
    for (int p = 0; p < Pixels; ++p) sum[p] = dot(sum[p], four_pixels(from + p * pixel), weights);
  }
  const Vec factor = load(w.requant->factor + lane), shift = load(w.requant->shift + lane);
  LATHE_UNROLL
  for (int p = 0; p < Pixels; ++p) {
    const int64_t to = (at + p) * channel_block + lane;
    requantize_vector<Adds, Saturates>(*w.requant, factor, shift, sum[p], Adds ? w.other + to : nullptr,
                                       w.y + to);
  }
}
template <bool Adds, bool Saturates>
void weigh_rows(const Int8Windows& w) {
  constexpr int pixels = Vec::width == 16 ? 8 : 4;
  const BlockedShape& s = *w.shape;
  const int64_t step = s.stride[1] * channel_block;
  for (int64_t row = w.row0; row < w.row1; ++row) {
    const uint8_t* const x = w.x + row * s.stride[0] * s.in[1] * channel_block;
    const int64_t first = row * s.out[1];
    for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
      int64_t column = 0;
      for (; column + pixels <= s.out[1]; column += pixels)
        weigh_pixels<pixels, Adds, Saturates>(w, x + column * step, first + column, lane);
      for (; column < s.out[1]; ++column)
        weigh_pixels<1, Adds, Saturates>(w, x + column * step, first + column, lane);
    }
  }
}
void weighted(const Int8Windows& w) {
  if (w.requant->saturates)
    w.requant->adds ? weigh_rows<true, true>(w) : weigh_rows<false, true>(w);
  else
    w.requant->adds ? weigh_rows<true, false>(w) : weigh_rows<false, false>(w);
}

void add_up(const uint8_t* x, int64_t pixels, int32_t* sums) {
  for (int64_t lane = 0; lane < channel_block; lane += Vec::width) {
    Ints sum = load_ints(sums + lane);
    for (int64_t p = 0; p < pixels; ++p) sum = sum + load_u8(x + p * channel_block + lane);
    store_ints(sums + lane, sum);
  }
}

constexpr Int8RowKernels table = {.quantize = quantize,
                                  .dequantize = dequantize<uint8_t>,
                                  .dequantize_signed = dequantize<int8_t>,
                                  .range = range,
                                  .ints = store_as_ints,
                                  .floats = store_as_floats,
                                  .bytes = store_as_bytes,
                                  .add = add,
                                  .scale = scale,
                                  .map = map,
                                  .weighted = weighted,
                                  .add_up = add_up};
