// Sums of products of bfloat16 with AVX-512's instruction for them. Included by for_each_isa.h only.

LATHE_INLINE __m512bh as_bf16_pairs(Vec x) {
  __m512i bits = _mm512_castps_si512(x.v);
#if defined(__clang__)
  // clang 16 moves the cast around a broadcast endlessly if it sees both.
  asm("" : "+v"(bits));
#endif
  return (__m512bh)bits;
}

/// As in bf16_dot2_emulated.h, rounded once for both terms.
LATHE_INLINE Vec bf16_dot2(Vec x, Vec y, Vec sum) {
  return {_mm512_dpbf16_ps(sum.v, as_bf16_pairs(x), as_bf16_pairs(y))};
}
