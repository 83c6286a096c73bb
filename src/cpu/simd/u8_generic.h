// U8, as many bytes as a Vec has, for any machine. Every U8 has these functions:
//   sums wrap around; less(a, b) is a - b, or 0 where b is larger; shifted_up and shifted_down shift each
//   byte; chosen takes the bits of `mask` from the first operand, the others from the second;
//   load_lanes and store_lanes take any address.
// Bytes are in lanes of sixteen, which these functions do not cross: repeated(p) is the same sixteen in each;
// look_up(t, x) is t[x] for x below 16; zip_u8_low(a, b) is a[0], b[0], a[1], b[1] … of the lanes' first
// halves, zip_u8_high of their second ones, zip_u16_low and zip_u16_high the same for pairs of bytes;
// even_u8(a, b) has bytes 0, 2, 4 … of a, then of b; odd_u8 1, 3, 5 …, even_u16 and odd_u16
// pairs of bytes.
// Included by for_each_isa.h only.

typedef uint8_t U8x16 __attribute__((vector_size(16)));
typedef uint16_t U16x8 __attribute__((vector_size(16)));

struct U8 {
  static constexpr int64_t size = 16;
  U8x16 v;
};

LATHE_INLINE U8 load_lanes(const std::byte* p) {
  U8 x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
LATHE_INLINE void store_lanes(std::byte* p, U8 x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE U8 repeated(const uint8_t* p) { return load_lanes(reinterpret_cast<const std::byte*>(p)); }
LATHE_INLINE U8 set_u8(uint8_t x) { return {U8x16{} + x}; }
LATHE_INLINE Vec as_vec(U8 x) { return {Four(x.v)}; }
LATHE_INLINE U8 operator+(U8 a, U8 b) { return {a.v + b.v}; }
LATHE_INLINE U8 operator^(U8 a, U8 b) { return {a.v ^ b.v}; }
LATHE_INLINE U8 operator|(U8 a, U8 b) { return {a.v | b.v}; }
LATHE_INLINE U8 operator&(U8 a, U8 b) { return {a.v & b.v}; }
template <int bits>
LATHE_INLINE U8 shifted_up(U8 x) {
  return {x.v << bits};
}
template <int bits>
LATHE_INLINE U8 shifted_down(U8 x) {
  return {x.v >> bits};
}
LATHE_INLINE U8 chosen(uint8_t mask, U8 a, U8 b) {
  const U8 m = set_u8(mask);
  return {(a.v & m.v) | (b.v & ~m.v)};
}
LATHE_INLINE U8 max(U8 a, U8 b) {
  const U8x16 larger(a.v > b.v);
  return {(a.v & larger) | (b.v & ~larger)};
}
LATHE_INLINE U8 min(U8 a, U8 b) {
  const U8x16 larger(a.v > b.v);
  return {(b.v & larger) | (a.v & ~larger)};
}
LATHE_INLINE U8 less(U8 a, U8 b) { return {(a.v - b.v) & U8x16(a.v > b.v)}; }
LATHE_INLINE U8 look_up(U8 table, U8 x) {
  U8 y;
  for (int i = 0; i < 16; ++i) y.v[i] = table.v[x.v[i]];
  return y;
}
LATHE_INLINE U8 zip_u8_low(U8 a, U8 b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)};
}
LATHE_INLINE U8 zip_u8_high(U8 a, U8 b) {
  return {__builtin_shufflevector(a.v, b.v, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)};
}
LATHE_INLINE U8 zip_u16_low(U8 a, U8 b) {
  return {U8x16(__builtin_shufflevector(U16x8(a.v), U16x8(b.v), 0, 8, 1, 9, 2, 10, 3, 11))};
}
LATHE_INLINE U8 zip_u16_high(U8 a, U8 b) {
  return {U8x16(__builtin_shufflevector(U16x8(a.v), U16x8(b.v), 4, 12, 5, 13, 6, 14, 7, 15))};
}
LATHE_INLINE U8 even_u8(U8 a, U8 b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)};
}
LATHE_INLINE U8 odd_u8(U8 a, U8 b) {
  return {__builtin_shufflevector(a.v, b.v, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
}
LATHE_INLINE U8 even_u16(U8 a, U8 b) {
  return {U8x16(__builtin_shufflevector(U16x8(a.v), U16x8(b.v), 0, 2, 4, 6, 8, 10, 12, 14))};
}
LATHE_INLINE U8 odd_u16(U8 a, U8 b) {
  return {U8x16(__builtin_shufflevector(U16x8(a.v), U16x8(b.v), 1, 3, 5, 7, 9, 11, 13, 15))};
}
