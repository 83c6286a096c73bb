// Bytes for AVX-512. The vocabulary is described in u8_generic.h. Included by for_each_isa.h only.

struct U8 {
  static constexpr int64_t size = 64;
  __m512i v;
};

LATHE_INLINE U8 load_lanes(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
LATHE_INLINE void store_lanes(std::byte* p, U8 x) { _mm512_storeu_si512(p, x.v); }
LATHE_INLINE U8 repeated(const uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE U8 set_u8(uint8_t x) { return {_mm512_set1_epi8(static_cast<char>(x))}; }
LATHE_INLINE Vec as_vec(U8 x) { return {_mm512_castsi512_ps(x.v)}; }
LATHE_INLINE U8 operator+(U8 a, U8 b) { return {_mm512_add_epi8(a.v, b.v)}; }
LATHE_INLINE U8 operator^(U8 a, U8 b) { return {_mm512_xor_si512(a.v, b.v)}; }
LATHE_INLINE U8 operator|(U8 a, U8 b) { return {_mm512_or_si512(a.v, b.v)}; }
LATHE_INLINE U8 operator&(U8 a, U8 b) { return {_mm512_and_si512(a.v, b.v)}; }
template <int bits>
LATHE_INLINE U8 shifted_up(U8 x) {
  return U8{_mm512_slli_epi16(x.v, bits)} & set_u8(static_cast<uint8_t>(255 << bits));
}
template <int bits>
LATHE_INLINE U8 shifted_down(U8 x) {
  return U8{_mm512_srli_epi16(x.v, bits)} & set_u8(255 >> bits);
}
LATHE_INLINE U8 chosen(uint8_t mask, U8 a, U8 b) {
  constexpr int by_first = 0xca;
  return {_mm512_ternarylogic_epi32(set_u8(mask).v, a.v, b.v, by_first)};
}
LATHE_INLINE U8 max(U8 a, U8 b) { return {_mm512_max_epu8(a.v, b.v)}; }
LATHE_INLINE U8 min(U8 a, U8 b) { return {_mm512_min_epu8(a.v, b.v)}; }
LATHE_INLINE U8 less(U8 a, U8 b) { return {_mm512_subs_epu8(a.v, b.v)}; }
LATHE_INLINE U8 look_up(U8 table, U8 x) { return {_mm512_shuffle_epi8(table.v, x.v)}; }
LATHE_INLINE U8 zip_u8_low(U8 a, U8 b) { return {_mm512_unpacklo_epi8(a.v, b.v)}; }
LATHE_INLINE U8 zip_u8_high(U8 a, U8 b) { return {_mm512_unpackhi_epi8(a.v, b.v)}; }
LATHE_INLINE U8 zip_u16_low(U8 a, U8 b) { return {_mm512_unpacklo_epi16(a.v, b.v)}; }
LATHE_INLINE U8 zip_u16_high(U8 a, U8 b) { return {_mm512_unpackhi_epi16(a.v, b.v)}; }
LATHE_INLINE U8 even_u8(U8 a, U8 b) {
  const __m512i low = _mm512_set1_epi16(255);
  return {_mm512_packus_epi16(_mm512_and_si512(a.v, low), _mm512_and_si512(b.v, low))};
}
LATHE_INLINE U8 odd_u8(U8 a, U8 b) {
  return {_mm512_packus_epi16(_mm512_srli_epi16(a.v, 8), _mm512_srli_epi16(b.v, 8))};
}
LATHE_INLINE U8 even_u16(U8 a, U8 b) {
  const __m512i low = _mm512_set1_epi32(65535);
  return {_mm512_packus_epi32(_mm512_and_si512(a.v, low), _mm512_and_si512(b.v, low))};
}
LATHE_INLINE U8 odd_u16(U8 a, U8 b) {
  return {_mm512_packus_epi32(_mm512_srli_epi32(a.v, 16), _mm512_srli_epi32(b.v, 16))};
}
