// Words for AVX2 and what has it. The vocabulary is described in ints_generic.h. Included by ints_avx2.h and
// ints_avx512.h only.

struct Words {
  static constexpr int64_t count = 16;
  __m256i v;
};
LATHE_INLINE Words load_words(const uint8_t* p) {
  return {_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE void store_words(int16_t* p, Words x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v);
}
LATHE_INLINE Words operator+(Words a, Words b) { return {_mm256_add_epi16(a.v, b.v)}; }
LATHE_INLINE Words operator-(Words a, Words b) { return {_mm256_sub_epi16(a.v, b.v)}; }
