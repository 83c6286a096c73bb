// Products of float32 with AMX's tiles of bfloat16. Included by for_each_isa.h only, after tiles_amx.h.
//
// A float32 is the sum of three bfloat16, its parts, exactly (bf16x3): each has 8 bits of its 24. Of the nine
// products of two numbers' parts the three smallest are less than half of what rounding a float32 product
// loses; the six others are summed in float32. That is as accurate as float32's own products, and tiles
// multiply sixteen times as fast as vectors do.
//
// Parts are stored in pairs of neighboring terms, as tiles require: 16 pairs are 64 bytes.
//
// Infinities, NaN and numbers that round to infinity cannot be split: functions that split report them, and
// the products are then computed in float32 (float32_step).

struct Bf16x3Pairs {
  __m512i of[part_count];
};

LATHE_INLINE __m512i float_bits(Vec x) { return _mm512_castps_si512(x.v); }
LATHE_INLINE Vec float_of(__m512i bits) { return {_mm512_castsi512_ps(bits)}; }
LATHE_INLINE __m512i upper_halves() { return _mm512_set1_epi32(static_cast<int>(0xffff0000U)); }
/// Rounds to the nearest bfloat16, ties away from zero.
LATHE_INLINE Vec rounded_part(Vec x) {
  return float_of(
      _mm512_and_si512(_mm512_add_epi32(float_bits(x), _mm512_set1_epi32(0x8000)), upper_halves()));
}
/// Makes pairs of two rows from the upper halves, lane by lane. Lower halves may be nonzero in last parts
/// that are not normal numbers.
struct RowPairs {
  static LATHE_INLINE __m512i of(Vec low, Vec high) {
    constexpr int first_and_second_or_third = 0xea;
    return _mm512_ternarylogic_epi32(upper_halves(), float_bits(high), _mm512_srli_epi32(float_bits(low), 16),
                                     first_and_second_or_third);
  }
};
/// The same for neighbors: 32 numbers in their order.
struct NeighborPairs {
  static LATHE_INLINE __m512i of(Vec first, Vec second) {
    alignas(64) static constexpr uint16_t upper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                       23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                       45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_permutex2var_epi16(float_bits(first), _mm512_load_si512(upper), float_bits(second));
  }
};

/// Splits two vectors. `wrong` becomes NaN if an element cannot be split.
template <class Pairs>
LATHE_INLINE Bf16x3Pairs split_pairs(Vec low, Vec high, Vec& wrong) {
  Bf16x3Pairs p;
  LATHE_UNROLL
  for (int i = 0; i < part_count - 1; ++i) {
    const Vec l = rounded_part(low), h = rounded_part(high);
    p.of[i] = Pairs::of(l, h);
    low = low - l, high = high - h;
  }
  p.of[part_count - 1] = Pairs::of(low, high);
  wrong = fma(low, zero(), fma(high, zero(), wrong));
  return p;
}

/// split_any() splits 32 neighbors so that parts always sum up to their number: numbers that would round to
/// infinity are truncated, and an infinity is its own first part. `wrong` becomes true if products of parts
/// would be wrong.
LATHE_INLINE Vec first_part(Vec& x, bool& wrong) {
  const __mmask16 huge = _mm512_cmp_ps_mask(_mm512_abs_ps(x.v), _mm512_set1_ps(0x1p127F), _CMP_NLT_UQ);
  const __mmask16 infinite = _mm512_fpclass_ps_mask(x.v, 0x18);
  const __m512i rounded = _mm512_mask_add_epi32(float_bits(x), static_cast<__mmask16>(~huge), float_bits(x),
                                                _mm512_set1_epi32(0x8000));
  const Vec part = float_of(_mm512_and_si512(rounded, upper_halves()));
  x = {_mm512_maskz_sub_ps(static_cast<__mmask16>(~infinite), x.v, part.v)};
  wrong = wrong || huge != 0;
  return part;
}
LATHE_INLINE Bf16x3Pairs split_any(Vec low, Vec high, bool& wrong) {
  Bf16x3Pairs p;
  const Vec first_low = first_part(low, wrong), first_high = first_part(high, wrong);
  p.of[0] = NeighborPairs::of(first_low, first_high);
  Vec none = zero();
  const Bf16x3Pairs rest = split_pairs<NeighborPairs>(low, high, none);
  p.of[1] = rest.of[0];
  p.of[2] = rest.of[1];
  return p;
}

/// Splits a panel of two vectors, some pairs of rows at a time. Rows beyond the last are 0.
struct WeightSplitter {
  explicit LATHE_INLINE WeightSplitter(PanelSplit& panel)
      : p(panel),
        from(p.from),
        row(p.row),
        left(p.left),
        done(p.done),
        share(p.share),
        to(reinterpret_cast<char*>(p.to)) {}
  PanelSplit& p;
  const float* from;
  int64_t row, left, done, share;
  char* to;
  Vec wrong = zero();
  static constexpr int64_t soon = 8;  // rows

  LATHE_INLINE void some() { pairs(share); }
  LATHE_INLINE void pairs(int64_t n) {
    for (; n > 0 && left > 0; --n) {
      const int64_t first = 2 * done;
      const float* const at = from + first * row;
      LATHE_UNROLL
      for (int v = 0; v < 2; ++v) {
        // The processor's own prefetching only reaches the second-level cache.
        prefetch(at + soon * row + v * Vec::width);
        prefetch(at + (soon + 1) * row + v * Vec::width);
        const Vec low = first < left ? load(at + v * Vec::width) : zero();
        const Vec high = first + 1 < left ? load(at + row + v * Vec::width) : zero();
        const Bf16x3Pairs pair = split_pairs<RowPairs>(low, high, wrong);
        LATHE_UNROLL
        for (int i = 0; i < part_count; ++i)
          _mm512_store_si512(to + (i * tile_depth + done) * tiled_panel_row + v * tile_row, pair.of[i]);
      }
      if (++done < tile_depth) continue;
      done = 0, from += part_depth * row, left -= part_depth, to += part_weights;
    }
  }
  LATHE_INLINE void save() {
    p.from = from, p.left = left, p.done = done, p.to = reinterpret_cast<float*>(to);
    p.wrong = p.wrong || _mm512_cmp_ps_mask(wrong.v, wrong.v, _CMP_UNORD_Q) != 0;
  }
};
/// Replaces WeightSplitter if there is nothing to split.
struct NoSplitter {
  static LATHE_INLINE void some() {}
};

template <bool Lower>
LATHE_INLINE void load_part(const char* upper, const char* lower, int64_t a_row) {
  load_tile<4>(upper, a_row);
  if constexpr (Lower) load_tile<5>(lower, a_row);
}
template <bool Wide>
LATHE_INLINE void load_weights(const char* w) {
  load_tile<6>(w, tiled_panel_row);
  if constexpr (Wide) load_tile<7>(w + tile_row, tiled_panel_row);
}
template <bool Lower, bool Wide>
LATHE_INLINE void add_part_products() {
  TiledBf16Dot2::add_product<0, 4, 6>();
  if constexpr (Wide) TiledBf16Dot2::add_product<1, 4, 7>();
  if constexpr (Lower) TiledBf16Dot2::add_product<2, 5, 6>();
  if constexpr (Lower && Wide) TiledBf16Dot2::add_product<3, 5, 7>();
}

/// A step along k: rows of the upper and of the lower tile of A are a_row bytes apart, the parts of a row
/// a_part. The smallest products come first, and as few tiles as possible are loaded twice. In between, a
/// splitter prepares the next panel: its vector instructions run while tiles are multiplied.
template <bool Lower, bool Wide, class Splitter>
LATHE_INLINE void bf16x3_step(const char* upper, const char* lower, int64_t a_row, int64_t a_part,
                              const char* w, Splitter& splitter) {
  constexpr int64_t next = tile_depth * tiled_panel_row;
  load_part<Lower>(upper + 2 * a_part, lower + 2 * a_part, a_row);
  load_weights<Wide>(w);
  add_part_products<Lower, Wide>();
  splitter.some();
  load_part<Lower>(upper + a_part, lower + a_part, a_row);
  add_part_products<Lower, Wide>();
  splitter.some();
  load_weights<Wide>(w + next);
  add_part_products<Lower, Wide>();
  splitter.some();
  load_part<Lower>(upper, lower, a_row);
  add_part_products<Lower, Wide>();
  splitter.some();
  load_weights<Wide>(w + 2 * next);
  add_part_products<Lower, Wide>();
  splitter.some();
  load_weights<Wide>(w);
  add_part_products<Lower, Wide>();
  splitter.some();
}
template <bool Lower, bool Wide>
LATHE_INLINE void bf16x3_step(const char* upper, const char* lower, int64_t a_row, int64_t a_part,
                              const char* w) {
  NoSplitter none;
  bf16x3_step<Lower, Wide>(upper, lower, a_row, a_part, w, none);
}

/// Multiplies one row of A, of `k` terms (at most part_depth), with weights that are not split (row k is at w
/// + k * w_row). Sums are in float32, in the order of the terms.
template <int Vectors>
LATHE_INLINE void float32_step(const char* a, int64_t a_part, int64_t k, const float* w, int64_t w_row,
                               Vec (&sum)[Vectors]) {
  alignas(64) float even[Vec::width], odd[Vec::width];
  Vec low = zero(), high = zero();
  LATHE_UNROLL
  for (int i = 0; i < part_count; ++i) {
    const __m512i pairs = _mm512_loadu_si512(a + i * a_part);
    low = low + float_of(_mm512_slli_epi32(pairs, 16));
    high = high + float_of(_mm512_and_si512(pairs, upper_halves()));
  }
  store(even, low);
  store(odd, high);
  for (int64_t i = 0; i < k; ++i) {
    LATHE_UNROLL
    for (int v = 0; v < Vectors; ++v)
      sum[v] = fma(set((i % 2 == 0 ? even : odd)[i / 2]), load(w + i * w_row + v * Vec::width), sum[v]);
  }
}
