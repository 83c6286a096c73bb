// Ints, integers beside Vec, for any machine. Every Ints has as many int32 as a Vec has floats, and these
// functions:
//   sums and products wrap around; shifted_down shifts zeros in, quartered the sign (it divides multiples of
//   four by four);
//   biased keeps the bits of `mask`, fewer than 2^23, as floats that are 2^23 too large: in one step, and
//   differences of such floats are exact;
//   to_ints rounds to the nearest, ties to even; its operand is within int32;
//   load_u8 and load_i8 read `width` bytes, store_u8 writes the lowest eight bits of each, store_saturated
//   those of the lesser of it and 255, for numbers of 0 or more; store_four_clamped clamps 4 * width numbers
//   to [0, 255];
//   Quads are four numbers of eight bits in each lane: load_quads loads 4 * width signed ones; dot adds the
//   four products of each lane, exactly. Tiles multiply a quad in quad_parts parts; if that is more than one,
//   unpack_quads separates them before (whole blocks of sixteen bytes, each of which then takes quad_parts
//   times as many). repeat_part is one part of an unpacked quad in every lane, load_part<i> that part of
//   4 * width signed numbers;
//   Pairs are two signed numbers of sixteen bits in each lane: load_pairs loads 2 * width of them,
//   repeat_pair two in every lane; dot adds the two products of each lane;
//   I16 holds `count` numbers of sixteen bits, channels of one block: load_u8_as_i16 reads bytes, sums wrap
//   around;
//   opaque is the same number to the machine and another one to the compiler, so that a shortage of registers
//   after it does not affect the loop before.
// Included by for_each_isa.h only.

struct Ints {
  FourInts v;
};
struct Quads {
  FourInts v;
};
struct SignedQuads {
  FourInts v;
};

LATHE_INLINE Ints opaque(Ints x) { return x; }
LATHE_INLINE Ints set_ints(int32_t x) { return {FourInts{x, x, x, x}}; }
LATHE_INLINE Ints load_ints(const int32_t* p) {
  Ints x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
LATHE_INLINE void store_ints(int32_t* p, Ints x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE Ints operator+(Ints a, Ints b) { return {FourInts(FourBits(a.v) + FourBits(b.v))}; }
LATHE_INLINE Ints operator-(Ints a, Ints b) { return {FourInts(FourBits(a.v) - FourBits(b.v))}; }
LATHE_INLINE Ints operator*(Ints a, Ints b) { return {FourInts(FourBits(a.v) * FourBits(b.v))}; }
LATHE_INLINE Ints operator^(Ints a, Ints b) { return {a.v ^ b.v}; }
template <int bits>
LATHE_INLINE Ints shifted_down(Ints x) {
  return {FourInts(FourBits(x.v) >> bits)};
}
LATHE_INLINE Ints quartered(Ints x) { return {x.v >> 2}; }
LATHE_INLINE Vec biased(Ints x, int32_t mask) { return {Four((x.v & mask) | 0x4b000000)}; }
LATHE_INLINE Vec to_floats(Ints x) { return {__builtin_convertvector(x.v, Four)}; }
LATHE_INLINE Ints to_ints(Vec x) { return {__builtin_convertvector(round(x).v, FourInts)}; }
LATHE_INLINE Ints load_u8(const uint8_t* p) { return {FourInts{p[0], p[1], p[2], p[3]}}; }
LATHE_INLINE Ints load_i8(const int8_t* p) { return {FourInts{p[0], p[1], p[2], p[3]}}; }
LATHE_INLINE void store_u8(uint8_t* p, Ints x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x.v[i]);
}
LATHE_INLINE Ints max(Ints a, Ints b) {
  const FourInts larger = a.v > b.v;
  return {(larger & a.v) | (~larger & b.v)};
}
LATHE_INLINE Ints min(Ints a, Ints b) {
  const FourInts less = a.v < b.v;
  return {(less & a.v) | (~less & b.v)};
}
LATHE_INLINE void store_saturated(uint8_t* p, Ints x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x.v[i] > 255 ? 255 : x.v[i]);
}
LATHE_INLINE void store_four_clamped(uint8_t* p, const Ints (&x)[4]) {
  for (int i = 0; i < 4; ++i) store_saturated(p + i * Vec::width, max(x[i], set_ints(0)));
}

struct Pairs {
  FourInts v;
};
LATHE_INLINE Pairs load_pairs(const int16_t* p) {
  Pairs x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
LATHE_INLINE Pairs repeat_pair(const int16_t* p) {
  int32_t two;
  std::memcpy(&two, p, sizeof two);
  return {FourInts{two, two, two, two}};
}
LATHE_INLINE Ints dot(Ints sum, Pairs x, Pairs w) {
  const FourInts low_x = FourInts(FourBits(x.v) << 16) >> 16, low_w = FourInts(FourBits(w.v) << 16) >> 16;
  return sum + Ints{low_x} * Ints{low_w} + Ints{x.v >> 16} * Ints{w.v >> 16};
}

typedef int16_t I16x8 __attribute__((vector_size(16)));
struct I16 {
  static constexpr int64_t count = 8;
  I16x8 v;
};
LATHE_INLINE I16 load_u8_as_i16(const uint8_t* p) {
  return {I16x8{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}};
}
LATHE_INLINE void store_i16(int16_t* p, I16 x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE I16 operator+(I16 a, I16 b) { return {I16x8(a.v + b.v)}; }
LATHE_INLINE I16 operator-(I16 a, I16 b) { return {I16x8(a.v - b.v)}; }

constexpr int quad_parts = 1;
constexpr void (*unpack_quads)(const uint8_t*, int64_t, uint8_t*) = nullptr;
LATHE_INLINE Quads repeat_part(const uint8_t* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof four);
  return {FourInts{four, four, four, four}};
}
LATHE_INLINE Quads four_pixels(const uint8_t* p) {
  FourInts x{};
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < 4; ++t)
      x[i] =
          static_cast<int32_t>(static_cast<uint32_t>(x[i]) | static_cast<uint32_t>(p[16 * t + i]) << (8 * t));
  return {x};
}
LATHE_INLINE SignedQuads load_quads(const int8_t* p) {
  SignedQuads x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
template <int>
LATHE_INLINE SignedQuads load_part(const int8_t* p) {
  return load_quads(p);
}
LATHE_INLINE Ints dot(Ints sum, Quads x, SignedQuads w) {
  LATHE_UNROLL
  for (int i = 0; i < 32; i += 8)
    sum = sum + Ints{(x.v >> i) & 255} * Ints{FourInts(FourBits(w.v) << (24 - i)) >> 24};
  return sum;
}

/// 256 bytes to look up in.
struct TableLookup {
  static constexpr int64_t width = 16;
  const uint8_t* entries;
};
LATHE_INLINE TableLookup load_table(const uint8_t* p) { return {p}; }
/// y = table[x], of `width` bytes.
LATHE_INLINE void look_up(TableLookup t, const uint8_t* x, uint8_t* y) {
  for (int64_t i = 0; i < TableLookup::width; ++i) y[i] = t.entries[x[i]];
}
