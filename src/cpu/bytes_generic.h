// Bytes, as many as a Vec takes, for any machine, and the vocabulary that every Bytes speaks:
//   sums wrap around; less(a, b) is a - b, or 0 where b is larger; shifted_up and shifted_down are each
//   byte's; chosen takes the bits of `mask` from the first.
//   load_lanes and store_lanes take any address.
// Bytes stand in lanes of sixteen, and these keep to their lane: repeated(p) is the same sixteen in each;
// look_up(t, x) is t[x] for x below 16; zip_bytes_low(a, b) is a[0], b[0], a[1], b[1] … of the lanes' first
// halves, zip_bytes_high of their second ones, zip_words the same by two bytes; even_bytes(a, b) takes these
// apart: bytes 0, 2, 4 … of a, then of b; odd_bytes takes 1, 3, 5 …, even_words and odd_words two bytes.
// Included by for_each_isa.h only.

typedef uint8_t SixteenBytes __attribute__((vector_size(16)));
typedef uint16_t EightWords __attribute__((vector_size(16)));

struct Bytes {
  static constexpr int64_t size = 16;
  SixteenBytes v;
};

LATHE_INLINE Bytes load_lanes(const std::byte* p) {
  Bytes x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
LATHE_INLINE void store_lanes(std::byte* p, Bytes x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE Bytes repeated(const uint8_t* p) { return load_lanes(reinterpret_cast<const std::byte*>(p)); }
LATHE_INLINE Bytes set_bytes(uint8_t x) { return {SixteenBytes{} + x}; }
LATHE_INLINE Vec as_vec(Bytes x) { return {Four(x.v)}; }
LATHE_INLINE Bytes operator+(Bytes a, Bytes b) { return {a.v + b.v}; }
LATHE_INLINE Bytes operator^(Bytes a, Bytes b) { return {a.v ^ b.v}; }
LATHE_INLINE Bytes operator|(Bytes a, Bytes b) { return {a.v | b.v}; }
LATHE_INLINE Bytes operator&(Bytes a, Bytes b) { return {a.v & b.v}; }
template <int bits>
LATHE_INLINE Bytes shifted_up(Bytes x) {
  return {x.v << bits};
}
template <int bits>
LATHE_INLINE Bytes shifted_down(Bytes x) {
  return {x.v >> bits};
}
LATHE_INLINE Bytes chosen(uint8_t mask, Bytes a, Bytes b) {
  const Bytes m = set_bytes(mask);
  return {(a.v & m.v) | (b.v & ~m.v)};
}
LATHE_INLINE Bytes max(Bytes a, Bytes b) {
  const SixteenBytes larger(a.v > b.v);
  return {(a.v & larger) | (b.v & ~larger)};
}
LATHE_INLINE Bytes min(Bytes a, Bytes b) {
  const SixteenBytes larger(a.v > b.v);
  return {(b.v & larger) | (a.v & ~larger)};
}
LATHE_INLINE Bytes less(Bytes a, Bytes b) { return {(a.v - b.v) & SixteenBytes(a.v > b.v)}; }
LATHE_INLINE Bytes look_up(Bytes table, Bytes x) {
  Bytes y;
  for (int i = 0; i < 16; ++i) y.v[i] = table.v[x.v[i]];
  return y;
}
LATHE_INLINE Bytes zip_bytes_low(Bytes a, Bytes b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)};
}
LATHE_INLINE Bytes zip_bytes_high(Bytes a, Bytes b) {
  return {__builtin_shufflevector(a.v, b.v, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)};
}
LATHE_INLINE Bytes zip_words_low(Bytes a, Bytes b) {
  return {SixteenBytes(__builtin_shufflevector(EightWords(a.v), EightWords(b.v), 0, 8, 1, 9, 2, 10, 3, 11))};
}
LATHE_INLINE Bytes zip_words_high(Bytes a, Bytes b) {
  return {
      SixteenBytes(__builtin_shufflevector(EightWords(a.v), EightWords(b.v), 4, 12, 5, 13, 6, 14, 7, 15))};
}
LATHE_INLINE Bytes even_bytes(Bytes a, Bytes b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)};
}
LATHE_INLINE Bytes odd_bytes(Bytes a, Bytes b) {
  return {__builtin_shufflevector(a.v, b.v, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
}
LATHE_INLINE Bytes even_words(Bytes a, Bytes b) {
  return {SixteenBytes(__builtin_shufflevector(EightWords(a.v), EightWords(b.v), 0, 2, 4, 6, 8, 10, 12, 14))};
}
LATHE_INLINE Bytes odd_words(Bytes a, Bytes b) {
  return {SixteenBytes(__builtin_shufflevector(EightWords(a.v), EightWords(b.v), 1, 3, 5, 7, 9, 11, 13, 15))};
}
