// Vec for any machine, by the compilers' vector extension. Every Vec has these functions:
//   load, load_first and store take any address; load_even(p) is p[0], p[2], p[4] …, and may read the
//   2 * width floats from p on; gather(p, at) is p[at[0]], p[at[1]] …; gather_near(p, at) is the same for
//   indices from at[0] to at[0] + 2 * width - 1, all of which it may read;
//   zip_low(a, b) is a[0], b[0], a[1], b[1] … of their first halves, zip_high of their second halves;
//   stream(p, x) stores at an address that is a multiple of a vector's size, past the caches if the machine
//   can; streamed() has to follow before another thread may read;
//   load_first / store_first access the first n in [0, width] elements only (others read as 0, or as those
//   of `rest`);
//   min and max give b if either is NaN; comparisons with NaN are false; fma rounds once if Vec::fuses, and
//   may round twice otherwise; accumulate(sum, a, b) is sum = fma(a, b, sum), in the register of the sum;
//   scale_by_power(x, n) = x * 2^n for integers n in [-252, 254]; split_exponent: x = mantissa * 2^exponent
//   with mantissa in [0.75, 1.5), for finite x > 0, denormals included.
//
// Eight has eight lanes, half a block of channels, whatever the width: load_eight, set_eight, store, +, -, *,
// fma, min and max are those of Vec.
// Neighbors has eight lanes of each of two pixels in one vector; it is void if a vector has at most eight:
// set(x) is x in all lanes, load_two(p) has p[0] in the lanes of the first pixel and p[1] in those of the
// second, load_eight(p) the same eight for both, load_eights(p, q) eight for each, of_two(first, second) two
// pixels whose vectors have equal lanes; of<0>() and of<1>() are the lanes of one pixel, followed by zeros.
// Included by for_each_isa.h only.

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));
typedef uint32_t FourBits __attribute__((vector_size(16)));

struct Vec {
  static constexpr int64_t width = 4;
  static constexpr bool fuses = false;
  Four v;
};
struct Mask {
  FourInts m;
};

LATHE_INLINE Vec zero() { return {Four{0, 0, 0, 0}}; }
LATHE_INLINE Vec set(float x) { return {Four{x, x, x, x}}; }
LATHE_INLINE Vec load(const float* p) {
  Vec x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
LATHE_INLINE void store(float* p, Vec x) { std::memcpy(p, &x.v, sizeof x.v); }
LATHE_INLINE void stream(float* p, Vec x) { store(p, x); }
LATHE_INLINE void streamed() {}
LATHE_INLINE Vec load_even(const float* p) { return {Four{p[0], p[2], p[4], p[6]}}; }
LATHE_INLINE Vec gather(const float* p, const int32_t* at) {
  return {Four{p[at[0]], p[at[1]], p[at[2]], p[at[3]]}};
}
LATHE_INLINE Vec gather_near(const float* p, const int32_t* at) { return gather(p, at); }
LATHE_INLINE Vec zip_low(Vec a, Vec b) { return {__builtin_shufflevector(a.v, b.v, 0, 4, 1, 5)}; }
LATHE_INLINE Vec zip_high(Vec a, Vec b) { return {__builtin_shufflevector(a.v, b.v, 2, 6, 3, 7)}; }
LATHE_INLINE Vec load_first(const float* p, int64_t n) {
  Vec x = zero();
  float part[Vec::width] = {};
  std::memcpy(part, p, static_cast<size_t>(n) * sizeof(float));
  std::memcpy(&x.v, part, sizeof x.v);
  return x;
}
LATHE_INLINE Vec load_first(const float* p, int64_t n, Vec rest) {
  std::memcpy(&rest.v, p, static_cast<size_t>(n) * sizeof(float));
  return rest;
}
LATHE_INLINE void store_first(float* p, Vec x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = x.v[i];
}

LATHE_INLINE Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
LATHE_INLINE Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
LATHE_INLINE Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
LATHE_INLINE Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
/// 1 / x, if neither is 0, denormal or infinite.
LATHE_INLINE Vec inverse(Vec x) { return {1.0f / x.v}; }
LATHE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {a.v * b.v + c.v}; }

LATHE_INLINE Mask operator<(Vec a, Vec b) { return {FourInts(a.v < b.v)}; }
LATHE_INLINE Mask operator>=(Vec a, Vec b) { return {FourInts(a.v >= b.v)}; }
LATHE_INLINE Mask operator==(Vec a, Vec b) { return {FourInts(a.v == b.v)}; }
LATHE_INLINE Mask is_nan(Vec x) { return {FourInts(x.v != x.v)}; }
LATHE_INLINE bool any_nan(Vec x) {
  const FourInts m = is_nan(x).m;
  return (m[0] | m[1] | m[2] | m[3]) != 0;
}
LATHE_INLINE Vec select(Mask m, Vec a, Vec b) {
  return {Four((m.m & FourInts(a.v)) | (~m.m & FourInts(b.v)))};
}
LATHE_INLINE Vec min(Vec a, Vec b) { return select(a < b, a, b); }
LATHE_INLINE Vec max(Vec a, Vec b) { return select(b < a, a, b); }

LATHE_INLINE Vec abs(Vec x) { return {Four(FourInts(x.v) & 0x7fffffff)}; }
LATHE_INLINE Vec negate(Vec x) { return {-x.v}; }
LATHE_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  return {Four((FourInts(magnitude.v) & 0x7fffffff) | (FourInts(sign.v) & ~0x7fffffff))};
}
LATHE_INLINE Vec sqrt(Vec x) {
  return {Four{std::sqrt(x.v[0]), std::sqrt(x.v[1]), std::sqrt(x.v[2]), std::sqrt(x.v[3])}};
}
// Adding and subtracting 2^23 leaves the nearest integer; numbers that large are integers already.
LATHE_INLINE Vec round(Vec x) {
  const Vec large = copy_sign(set(8388608.0f), x);
  return select(abs(x) < set(8388608.0f), copy_sign((x + large) - large, x), x);
}
LATHE_INLINE Vec floor(Vec x) {
  const Vec r = round(x);
  return select(x < r, r - set(1.0f), r);
}
LATHE_INLINE Vec ceil(Vec x) {
  const Vec r = round(x);
  return select(r < x, copy_sign(r + set(1.0f), x), r);
}

LATHE_INLINE Vec scale_by_power(Vec x, Vec n) {
  const FourInts whole = __builtin_convertvector(n.v, FourInts), half = whole >> 1, rest = whole - half;
  return {x.v * Four(FourBits(half + 127) << 23) * Four(FourBits(rest + 127) << 23)};
}
LATHE_INLINE void split_exponent(Vec x, Vec& mantissa, Vec& exponent) {
  const Mask tiny = x < set(std::numeric_limits<float>::min());
  const FourBits bits = FourBits(select(tiny, x * set(8388608.0f), x).v);
  // Counting from the bits of 0.75 puts the mantissa into [0.75, 1.5).
  const FourInts e = FourInts(bits - 0x3f400000u) >> 23;
  mantissa = {Four(bits - (FourBits(e) << 23))};
  exponent = Vec{__builtin_convertvector(e, Four)} - select(tiny, set(23.0f), zero());
}
LATHE_INLINE float sum_of(Vec x) { return (x.v[0] + x.v[2]) + (x.v[1] + x.v[3]); }
LATHE_INLINE float max_of(Vec x) {
  const float a = x.v[0] > x.v[1] ? x.v[0] : x.v[1], b = x.v[2] > x.v[3] ? x.v[2] : x.v[3];
  return a > b ? a : b;
}
LATHE_INLINE float min_of(Vec x) {
  const float a = x.v[0] < x.v[1] ? x.v[0] : x.v[1], b = x.v[2] < x.v[3] ? x.v[2] : x.v[3];
  return a < b ? a : b;
}
LATHE_INLINE void prefetch(const float* p) { __builtin_prefetch(p); }

LATHE_INLINE Vec load_i8_as_floats(const int8_t* p) {
  return {Four{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
               static_cast<float>(p[3])}};
}
LATHE_INLINE Vec load_f16(const Float16* p) {
  return {Four{to_float(p[0]), to_float(p[1]), to_float(p[2]), to_float(p[3])}};
}
LATHE_INLINE Vec load_f16(const BFloat16* p) {
  return {Four(FourBits{p[0].bits, p[1].bits, p[2].bits, p[3].bits} << 16)};
}
LATHE_INLINE void store_f16(Float16* p, Vec x) {
  for (int i = 0; i < 4; ++i) p[i] = to_float16(x.v[i]);
}
LATHE_INLINE void store_f16(BFloat16* p, Vec x) {
  for (int i = 0; i < 4; ++i) p[i] = to_bfloat16(x.v[i]);
}
/// The first and the second bfloat16 of each lane that holds two.
LATHE_INLINE Vec first_of_pair(Vec x) { return {Four(FourBits(x.v) << 16)}; }
LATHE_INLINE Vec second_of_pair(Vec x) { return {Four(FourBits(x.v) & 0xffff0000u)}; }

using Neighbors = void;
struct Eight {
  Vec low, high;
};
LATHE_INLINE Eight load_eight(const float* p) { return {load(p), load(p + Vec::width)}; }
LATHE_INLINE Eight set_eight(float x) { return {set(x), set(x)}; }
LATHE_INLINE void store(float* p, Eight x) {
  store(p, x.low);
  store(p + Vec::width, x.high);
}
LATHE_INLINE Eight operator+(Eight a, Eight b) { return {a.low + b.low, a.high + b.high}; }
LATHE_INLINE Eight operator-(Eight a, Eight b) { return {a.low - b.low, a.high - b.high}; }
LATHE_INLINE Eight operator*(Eight a, Eight b) { return {a.low * b.low, a.high * b.high}; }
LATHE_INLINE Eight fma(Eight a, Eight b, Eight c) {
  return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
}
LATHE_INLINE Eight min(Eight a, Eight b) { return {min(a.low, b.low), min(a.high, b.high)}; }
LATHE_INLINE Eight max(Eight a, Eight b) { return {max(a.low, b.low), max(a.high, b.high)}; }
