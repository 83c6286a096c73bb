// Ints for AVX2. The operations are described in ints_generic.h. Included by for_each_isa.h only.
//
// vpmaddubsw would saturate, so bytes are widened to 16 bits first, those in even and those in odd places.

struct Ints {
  __m256i v;
};
struct Quads {
  __m256i even, odd;
};
struct SignedQuads {
  __m256i even, odd;
};

LATHE_INLINE Ints opaque(Ints x) { return x; }
LATHE_INLINE Ints set_ints(int32_t x) { return {_mm256_set1_epi32(x)}; }
LATHE_INLINE Ints load_ints(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
LATHE_INLINE void store_ints(int32_t* p, Ints x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v); }
LATHE_INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator*(Ints a, Ints b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator^(Ints a, Ints b) { return {_mm256_xor_si256(a.v, b.v)}; }
template <int bits>
LATHE_INLINE Ints shifted_down(Ints x) {
  return {_mm256_srli_epi32(x.v, bits)};
}
LATHE_INLINE Ints quartered(Ints x) { return {_mm256_srai_epi32(x.v, 2)}; }
LATHE_INLINE Vec biased(Ints x, int32_t mask) {
  const __m256i kept = _mm256_and_si256(x.v, _mm256_set1_epi32(mask));
  return {_mm256_castsi256_ps(_mm256_or_si256(kept, _mm256_set1_epi32(0x4b000000)))};
}
LATHE_INLINE Vec to_floats(Ints x) { return {_mm256_cvtepi32_ps(x.v)}; }
LATHE_INLINE Ints to_ints(Vec x) { return {_mm256_cvttps_epi32(round(x).v)}; }
LATHE_INLINE Ints load_u8(const uint8_t* p) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE Ints load_i8(const int8_t* p) {
  return {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE void store_u8(uint8_t* p, Ints x) {
  const __m256i low = _mm256_and_si256(x.v, _mm256_set1_epi32(255));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}
LATHE_INLINE Ints max(Ints a, Ints b) { return {_mm256_max_epi32(a.v, b.v)}; }
LATHE_INLINE Ints min(Ints a, Ints b) { return {_mm256_min_epi32(a.v, b.v)}; }
LATHE_INLINE void store_saturated(uint8_t* p, Ints x) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x.v), _mm256_extracti128_si256(x.v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi16(_mm_min_epu16(words, _mm_set1_epi16(255)), words));
}
LATHE_INLINE void store_four_clamped(uint8_t* p, const Ints (&x)[4]) {
  for (int i = 0; i < 4; ++i) store_saturated(p + i * Vec::width, max(x[i], set_ints(0)));
}

LATHE_INLINE Quads split(__m256i x) {
  return {_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
}
LATHE_INLINE Quads four_pixels(const uint8_t* p) {
  const auto pixel = reinterpret_cast<const __m128i*>(p);
  const __m128i a = _mm_unpacklo_epi8(_mm_loadl_epi64(pixel), _mm_loadl_epi64(pixel + 1)),
                b = _mm_unpacklo_epi8(_mm_loadl_epi64(pixel + 2), _mm_loadl_epi64(pixel + 3));
  return split(_mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b)));
}
LATHE_INLINE SignedQuads load_quads(const int8_t* p) {
  const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
}
LATHE_INLINE Ints dot(Ints sum, Quads x, SignedQuads w) {
  const __m256i even = _mm256_madd_epi16(x.even, w.even), odd = _mm256_madd_epi16(x.odd, w.odd);
  return {_mm256_add_epi32(_mm256_add_epi32(sum.v, even), odd)};
}

struct Pairs {
  __m256i v;
};
LATHE_INLINE Pairs load_pairs(const int16_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
LATHE_INLINE Pairs repeat_pair(const int16_t* p) {
  int32_t two;
  std::memcpy(&two, p, sizeof two);
  return {_mm256_set1_epi32(two)};
}
LATHE_INLINE Ints dot(Ints sum, Pairs x, Pairs w) {
  // Without assembly the compiler adds products of two pairs first, for which there are no registers.
  __m256i product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum.v), "=&x"(product) : "x"(x.v), "x"(w.v));
  return sum;
}

/// An unpacked quad has numbers 0 and 2, then 1 and 3, in 16 bits each: unpacking quads in every tile would
/// take as long as half of its products.
constexpr int quad_parts = 2;
inline void unpack_quads(const uint8_t* p, int64_t bytes, uint8_t* to) {
  const __m256i even_first =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  for (int64_t i = 0; i < bytes; i += 16) {
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i), _mm256_shuffle_epi8(wide, even_first));
  }
}
LATHE_INLINE Pairs repeat_part(const uint8_t* p) { return repeat_pair(reinterpret_cast<const int16_t*>(p)); }
template <int i>
LATHE_INLINE Pairs load_part(const int8_t* p) {
  const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm256_srai_epi16(i == 0 ? _mm256_slli_epi16(w, 8) : w, 8)};
}

#include "cpu/simd/i16_avx2.h"

/// The table as 16 tables of 16. A shuffle looks up in each, and gives 0 if a byte's highest bit is set,
/// which is arranged for bytes that belong to another table.
struct TableLookup {
  static constexpr int64_t width = 64;
  __m256i parts[16];
};
LATHE_INLINE TableLookup load_table(const uint8_t* p) {
  TableLookup t;
  LATHE_UNROLL
  for (int i = 0; i < 16; ++i)
    t.parts[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i)));
  return t;
}
LATHE_INLINE void look_up(const TableLookup& t, const uint8_t* x, uint8_t* y) {
  const __m256i others = _mm256_set1_epi8(0x70);
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)),
                b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 32));
  __m256i to_a = _mm256_setzero_si256(), to_b = to_a;
  LATHE_UNROLL
  for (int i = 0; i < 16; ++i) {
    const __m256i part = _mm256_set1_epi8(static_cast<char>(16 * i));
    to_a = _mm256_or_si256(
        to_a, _mm256_shuffle_epi8(t.parts[i], _mm256_adds_epu8(_mm256_xor_si256(a, part), others)));
    to_b = _mm256_or_si256(
        to_b, _mm256_shuffle_epi8(t.parts[i], _mm256_adds_epu8(_mm256_xor_si256(b, part), others)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), to_a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 32), to_b);
}
