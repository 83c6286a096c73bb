// Ints for AVX-512, with VNNI where LATHE_VNNI is 1. The operations are described in ints_generic.h. Included
// by for_each_isa.h only.

struct Ints {
  __m512i v;
};

LATHE_INLINE Ints opaque(Ints x) {
  __asm__("" : "+v"(x.v));
  return x;
}
LATHE_INLINE Ints set_ints(int32_t x) { return {_mm512_set1_epi32(x)}; }
LATHE_INLINE Ints load_ints(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
LATHE_INLINE void store_ints(int32_t* p, Ints x) { _mm512_storeu_si512(p, x.v); }
LATHE_INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator*(Ints a, Ints b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
LATHE_INLINE Ints operator^(Ints a, Ints b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int bits>
LATHE_INLINE Ints shifted_down(Ints x) {
  return {_mm512_srli_epi32(x.v, bits)};
}
LATHE_INLINE Ints quartered(Ints x) { return {_mm512_srai_epi32(x.v, 2)}; }
LATHE_INLINE Vec biased(Ints x, int32_t mask) {
  constexpr int and_then_or = 0xea;
  return {_mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(x.v, _mm512_set1_epi32(mask), _mm512_set1_epi32(0x4b000000), and_then_or))};
}
LATHE_INLINE Vec to_floats(Ints x) { return {_mm512_cvtepi32_ps(x.v)}; }
LATHE_INLINE Ints to_ints(Vec x) {
  return {_mm512_cvt_roundps_epi32(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
LATHE_INLINE Ints load_u8(const uint8_t* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE Ints load_i8(const int8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE void store_u8(uint8_t* p, Ints x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}

LATHE_INLINE Ints max(Ints a, Ints b) { return {_mm512_max_epi32(a.v, b.v)}; }
LATHE_INLINE Ints min(Ints a, Ints b) { return {_mm512_min_epi32(a.v, b.v)}; }
LATHE_INLINE void store_saturated(uint8_t* p, Ints x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtusepi32_epi8(x.v));
}
LATHE_INLINE void store_four_clamped(uint8_t* p, const Ints (&x)[4]) {
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i by_quad =
      _mm512_packus_epi16(_mm512_packs_epi32(x[0].v, x[1].v), _mm512_packs_epi32(x[2].v, x[3].v));
  _mm512_storeu_si512(p, _mm512_permutexvar_epi32(in_order, by_quad));
}

#if LATHE_VNNI
struct Quads {
  __m512i v;
};
struct SignedQuads {
  __m512i v;
};
LATHE_INLINE Quads split(__m512i x) { return {x}; }
LATHE_INLINE SignedQuads load_quads(const int8_t* p) { return {_mm512_loadu_si512(p)}; }
LATHE_INLINE Ints dot(Ints sum, Quads x, SignedQuads w) { return {_mm512_dpbusd_epi32(sum.v, x.v, w.v)}; }
#else
struct Quads {
  __m512i even, odd;
};
struct SignedQuads {
  __m512i even, odd;
};
LATHE_INLINE Quads split(__m512i x) {
  return {_mm512_and_si512(x, _mm512_set1_epi16(255)), _mm512_srli_epi16(x, 8)};
}
LATHE_INLINE SignedQuads load_quads(const int8_t* p) {
  const __m512i w = _mm512_loadu_si512(p);
  return {_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), _mm512_srai_epi16(w, 8)};
}
LATHE_INLINE Ints dot(Ints sum, Quads x, SignedQuads w) {
  const __m512i even = _mm512_madd_epi16(x.even, w.even), odd = _mm512_madd_epi16(x.odd, w.odd);
  return {_mm512_add_epi32(_mm512_add_epi32(sum.v, even), odd)};
}
#endif

struct Pairs {
  __m512i v;
};
LATHE_INLINE Pairs load_pairs(const int16_t* p) { return {_mm512_loadu_si512(p)}; }
LATHE_INLINE Pairs repeat_pair(const int16_t* p) {
  int32_t two;
  std::memcpy(&two, p, sizeof two);
  return {_mm512_set1_epi32(two)};
}
LATHE_INLINE Ints dot(Ints sum, Pairs x, Pairs w) {
  return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(x.v, w.v))};
}

#include "cpu/simd/i16_avx2.h"

constexpr int quad_parts = 1;
constexpr void (*unpack_quads)(const uint8_t*, int64_t, uint8_t*) = nullptr;
LATHE_INLINE Quads repeat_part(const uint8_t* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof four);
  return split(_mm512_set1_epi32(four));
}
template <int>
LATHE_INLINE SignedQuads load_part(const int8_t* p) {
  return load_quads(p);
}
LATHE_INLINE Quads four_pixels(const uint8_t* p) {
  const __m512i by_quad = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i by_channel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  return split(_mm512_shuffle_epi8(_mm512_permutexvar_epi32(by_quad, _mm512_loadu_si512(p)), by_channel));
}

/// The table as 16 tables of 16. A shuffle looks up in each, and gives 0 if a byte's highest bit is set,
/// which is arranged for bytes that belong to another table.
struct TableLookup {
  static constexpr int64_t width = 64;
  __m512i parts[16];
};
LATHE_INLINE TableLookup load_table(const uint8_t* p) {
  TableLookup t;
  LATHE_UNROLL
  for (int i = 0; i < 16; ++i)
    t.parts[i] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i)));
  return t;
}
LATHE_INLINE void look_up(const TableLookup& t, const uint8_t* x, uint8_t* y) {
  const __m512i others = _mm512_set1_epi8(0x70), from = _mm512_loadu_si512(x);
  // Two chains, so that one does not wait for the other.
  __m512i even = _mm512_setzero_si512(), odd = even;
  LATHE_UNROLL
  for (int i = 0; i < 16; i += 2) {
    const __m512i one = _mm512_xor_si512(from, _mm512_set1_epi8(static_cast<char>(16 * i))),
                  two = _mm512_xor_si512(from, _mm512_set1_epi8(static_cast<char>(16 * i + 16)));
    even = _mm512_or_si512(even, _mm512_shuffle_epi8(t.parts[i], _mm512_adds_epu8(one, others)));
    odd = _mm512_or_si512(odd, _mm512_shuffle_epi8(t.parts[i + 1], _mm512_adds_epu8(two, others)));
  }
  _mm512_storeu_si512(y, _mm512_or_si512(even, odd));
}
