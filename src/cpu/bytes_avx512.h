// Bytes for AVX-512. The vocabulary is described in bytes_generic.h. Included by for_each_isa.h only.

struct Bytes {
  static constexpr int64_t size = 64;
  __m512i v;
};

LATHE_INLINE Bytes load_lanes(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
LATHE_INLINE void store_lanes(std::byte* p, Bytes x) { _mm512_storeu_si512(p, x.v); }
LATHE_INLINE Bytes repeated(const uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE Bytes set_bytes(uint8_t x) { return {_mm512_set1_epi8(static_cast<char>(x))}; }
LATHE_INLINE Vec as_vec(Bytes x) { return {_mm512_castsi512_ps(x.v)}; }
LATHE_INLINE Bytes operator+(Bytes a, Bytes b) { return {_mm512_add_epi8(a.v, b.v)}; }
LATHE_INLINE Bytes operator^(Bytes a, Bytes b) { return {_mm512_xor_si512(a.v, b.v)}; }
LATHE_INLINE Bytes operator|(Bytes a, Bytes b) { return {_mm512_or_si512(a.v, b.v)}; }
LATHE_INLINE Bytes operator&(Bytes a, Bytes b) { return {_mm512_and_si512(a.v, b.v)}; }
template <int bits>
LATHE_INLINE Bytes shifted_up(Bytes x) {
  return Bytes{_mm512_slli_epi16(x.v, bits)} & set_bytes(static_cast<uint8_t>(255 << bits));
}
template <int bits>
LATHE_INLINE Bytes shifted_down(Bytes x) {
  return Bytes{_mm512_srli_epi16(x.v, bits)} & set_bytes(255 >> bits);
}
LATHE_INLINE Bytes chosen(uint8_t mask, Bytes a, Bytes b) {
  constexpr int by_first = 0xca;
  return {_mm512_ternarylogic_epi32(set_bytes(mask).v, a.v, b.v, by_first)};
}
LATHE_INLINE Bytes max(Bytes a, Bytes b) { return {_mm512_max_epu8(a.v, b.v)}; }
LATHE_INLINE Bytes min(Bytes a, Bytes b) { return {_mm512_min_epu8(a.v, b.v)}; }
LATHE_INLINE Bytes less(Bytes a, Bytes b) { return {_mm512_subs_epu8(a.v, b.v)}; }
LATHE_INLINE Bytes look_up(Bytes table, Bytes x) { return {_mm512_shuffle_epi8(table.v, x.v)}; }
LATHE_INLINE Bytes zip_bytes_low(Bytes a, Bytes b) { return {_mm512_unpacklo_epi8(a.v, b.v)}; }
LATHE_INLINE Bytes zip_bytes_high(Bytes a, Bytes b) { return {_mm512_unpackhi_epi8(a.v, b.v)}; }
LATHE_INLINE Bytes zip_words_low(Bytes a, Bytes b) { return {_mm512_unpacklo_epi16(a.v, b.v)}; }
LATHE_INLINE Bytes zip_words_high(Bytes a, Bytes b) { return {_mm512_unpackhi_epi16(a.v, b.v)}; }
LATHE_INLINE Bytes even_bytes(Bytes a, Bytes b) {
  const __m512i low = _mm512_set1_epi16(255);
  return {_mm512_packus_epi16(_mm512_and_si512(a.v, low), _mm512_and_si512(b.v, low))};
}
LATHE_INLINE Bytes odd_bytes(Bytes a, Bytes b) {
  return {_mm512_packus_epi16(_mm512_srli_epi16(a.v, 8), _mm512_srli_epi16(b.v, 8))};
}
LATHE_INLINE Bytes even_words(Bytes a, Bytes b) {
  const __m512i low = _mm512_set1_epi32(65535);
  return {_mm512_packus_epi32(_mm512_and_si512(a.v, low), _mm512_and_si512(b.v, low))};
}
LATHE_INLINE Bytes odd_words(Bytes a, Bytes b) {
  return {_mm512_packus_epi32(_mm512_srli_epi32(a.v, 16), _mm512_srli_epi32(b.v, 16))};
}
