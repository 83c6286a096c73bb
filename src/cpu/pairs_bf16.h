// Sums of products of bfloat16 with AVX-512's instruction for them. Included by for_each_isa.h only.

/// As in pairs_plain.h, rounded once for both terms.
LATHE_INLINE Vec add_pair_products(Vec x, Vec y, Vec sum) {
  return {_mm512_dpbf16_ps(sum.v, (__m512bh)_mm512_castps_si512(x.v), (__m512bh)_mm512_castps_si512(y.v))};
}
