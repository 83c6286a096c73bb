// Sums of products of bfloat16 with AVX-512's instruction for them. Included by for_each_isa.h only.

LATHE_INLINE __m512bh pairs_of(Vec x) {
  __m512i bits = _mm512_castps_si512(x.v);
#if defined(__clang__)
  // clang 16 moves the cast before and behind a broadcast for ever, where it sees both.
  asm("" : "+v"(bits));
#endif
  return (__m512bh)bits;
}

/// As in pairs_plain.h, rounded once for both terms.
LATHE_INLINE Vec add_pair_products(Vec x, Vec y, Vec sum) {
  return {_mm512_dpbf16_ps(sum.v, pairs_of(x), pairs_of(y))};
}
