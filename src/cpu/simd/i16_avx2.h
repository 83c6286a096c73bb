// Lanes of int16 for AVX2 and AVX-512. The operations are described in ints_generic.h. Included by
// ints_avx2.h and ints_avx512.h only.

struct I16 {
  static constexpr int64_t count = 16;
  __m256i v;
};
LATHE_INLINE I16 load_u8_as_i16(const uint8_t* p) {
  return {_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE void store_i16(int16_t* p, I16 x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v); }
LATHE_INLINE I16 operator+(I16 a, I16 b) { return {_mm256_add_epi16(a.v, b.v)}; }
LATHE_INLINE I16 operator-(I16 a, I16 b) { return {_mm256_sub_epi16(a.v, b.v)}; }
