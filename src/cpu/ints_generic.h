// Ints, whole numbers beside Vec, for any machine, and the vocabulary that every Ints speaks:
//   as many int32 as a Vec has floats; sums and products wrap around; shifted_down brings zeros in, and
//   quartered the sign (of what is a multiple of four it is the fourth);
//   biased keeps the bits of `mask`, fewer than 2^23, as floats that are 2^23 too large: in one step, and
//   differences of such floats are exact;
//   to_ints rounds to the nearest, ties to even; its operand is within int32; load_bytes and
//   load_signed_bytes read `width` bytes, store_bytes writes the lowest eight bits of each, and
//   store_saturated those of the lesser of it and 255, for numbers of 0 or more, store_four_clamped of any
//   numbers within 0 and 255, four times `width` of them; Quads are four numbers of eight bits in each lane:
//   load_quads 4 * width signed ones; dot adds the four products of each lane, exactly. Tiles multiply a quad
//   in quad_parts parts; where that is more than one, of what spread_quads has taken apart before (whole
//   blocks of sixteen bytes, each of which takes quad_parts bytes then). repeat_part is one part of a spread
//   quad in every lane, load_part<i> that part of 4 * width signed numbers. Pairs are two signed numbers of
//   sixteen bits in each lane: load_pairs 2 * width of them, repeat_pair two in every lane; dot adds the two
//   products of each lane. Words are `count` numbers of sixteen bits, channels of one block: load_words reads
//   bytes, sums wrap around. apart is the same number to the machine and another one to the compiler: what is
//   short of registers after it does not take them away from the loop before.
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

LATHE_INLINE Ints apart(Ints x) { return x; }
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
LATHE_INLINE Ints load_bytes(const uint8_t* p) { return {FourInts{p[0], p[1], p[2], p[3]}}; }
LATHE_INLINE Ints load_signed_bytes(const int8_t* p) { return {FourInts{p[0], p[1], p[2], p[3]}}; }
LATHE_INLINE void store_bytes(uint8_t* p, Ints x) {
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

typedef int16_t EightWords __attribute__((vector_size(16)));
struct Words {
  static constexpr int64_t count = 8;
  EightWords v;
};
LATHE_INLINE Words load_words(const uint8_t* p) {
  return {EightWords{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}};
}
LATHE_INLINE void store_words(int16_t* p, Words x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE Words operator+(Words a, Words b) { return {EightWords(a.v + b.v)}; }
LATHE_INLINE Words operator-(Words a, Words b) { return {EightWords(a.v - b.v)}; }

constexpr int quad_parts = 1;
constexpr void (*spread_quads)(const uint8_t*, int64_t, uint8_t*) = nullptr;
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
struct ByteTable {
  static constexpr int64_t width = 16;
  const uint8_t* entries;
};
LATHE_INLINE ByteTable load_table(const uint8_t* p) { return {p}; }
/// y = table[x], of `width` bytes.
LATHE_INLINE void look_up(ByteTable t, const uint8_t* x, uint8_t* y) {
  for (int64_t i = 0; i < ByteTable::width; ++i) y[i] = t.entries[x[i]];
}
