// Vec for AVX-512 (F, BW, DQ, VL). The vocabulary is described in vec_generic.h. Included by for_each_isa.h
// only.

struct Vec {
  static constexpr int64_t width = 16;
  static constexpr bool fuses = true;
  __m512 v;
};
struct Mask {
  __mmask16 m;
};

LATHE_INLINE __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
LATHE_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
LATHE_INLINE Vec set(float x) { return {_mm512_set1_ps(x)}; }
LATHE_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
LATHE_INLINE void store(float* p, Vec x) { _mm512_storeu_ps(p, x.v); }
LATHE_INLINE void stream(float* p, Vec x) { _mm512_stream_ps(p, x.v); }
LATHE_INLINE void streamed() { _mm_sfence(); }
LATHE_INLINE Vec load_even(const float* p) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(_mm512_loadu_ps(p), even, _mm512_loadu_ps(p + 16))};
}
LATHE_INLINE Vec gather(const float* p, const int32_t* at) {
  return {_mm512_i32gather_ps(_mm512_loadu_si512(at), p, sizeof(float))};
}
LATHE_INLINE Vec gather_near(const float* p, const int32_t* at) {
  const __m512i i = _mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_set1_epi32(at[0]));
  return {_mm512_permutex2var_ps(_mm512_loadu_ps(p + at[0]), i, _mm512_loadu_ps(p + at[0] + 16))};
}
LATHE_INLINE Vec zip_low(Vec a, Vec b) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return {_mm512_permutex2var_ps(a.v, low, b.v)};
}
LATHE_INLINE Vec zip_high(Vec a, Vec b) {
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return {_mm512_permutex2var_ps(a.v, high, b.v)};
}
LATHE_INLINE Vec load_first(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
LATHE_INLINE Vec load_first(const float* p, int64_t n, Vec rest) {
  return {_mm512_mask_loadu_ps(rest.v, first(n), p)};
}
LATHE_INLINE void store_first(float* p, Vec x, int64_t n) { _mm512_mask_storeu_ps(p, first(n), x.v); }

LATHE_INLINE Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
/// 1 / x within an ulp, if neither is 0, denormal or infinite. An estimate of 14 bits and a step of Newton's
/// method take a quarter of a division's time.
LATHE_INLINE Vec inverse(Vec x) {
  const __m512 r = _mm512_rcp14_ps(x.v);
  return {_mm512_fmadd_ps(r, _mm512_fnmadd_ps(x.v, r, _mm512_set1_ps(1)), r)};
}
/// The same, and 0 in lanes that are not in the mask.
LATHE_INLINE Vec inverse(Mask there, Vec x) {
  const __m512 r = _mm512_maskz_rcp14_ps(there.m, x.v);
  return {_mm512_fmadd_ps(r, _mm512_fnmadd_ps(x.v, r, _mm512_set1_ps(1)), r)};
}
LATHE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
LATHE_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
LATHE_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
LATHE_INLINE Vec sqrt(Vec x) { return {_mm512_sqrt_ps(x.v)}; }
LATHE_INLINE Vec abs(Vec x) { return {_mm512_abs_ps(x.v)}; }
LATHE_INLINE Vec negate(Vec x) { return {_mm512_xor_ps(x.v, _mm512_set1_ps(-0.0f))}; }
LATHE_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  const __m512 bit = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(bit, magnitude.v), _mm512_and_ps(bit, sign.v))};
}
LATHE_INLINE Vec round(Vec x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
LATHE_INLINE Vec floor(Vec x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
LATHE_INLINE Vec ceil(Vec x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
}

LATHE_INLINE Mask operator<(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
LATHE_INLINE Mask operator>=(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ)}; }
LATHE_INLINE Mask operator==(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
LATHE_INLINE Mask is_nan(Vec x) { return {_mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q)}; }
LATHE_INLINE bool any_nan(Vec x) { return is_nan(x).m != 0; }
LATHE_INLINE Vec select(Mask m, Vec a, Vec b) { return {_mm512_mask_blend_ps(m.m, b.v, a.v)}; }

LATHE_INLINE Vec scale_by_power(Vec x, Vec n) { return {_mm512_scalef_ps(x.v, n.v)}; }
/// A number so great that its last place is 1/32: sums with it are rounded to multiples of that.
constexpr float thirty_seconds = 0x1.8p+18f;
/// Two to the power of the fraction of a multiple of 1/32 to which `thirty_seconds` was added, times `halves`
/// / 2. scale_by_power() only uses the integer part.
template <int halves = 2>
LATHE_INLINE Vec power_of_fraction(Vec rounded) {
  constexpr float f = 0.5f * halves;
  const __m512 low =
      _mm512_setr_ps(f * 0x1p+0f, f * 0x1.059b0ep+0f, f * 0x1.0b5586p+0f, f * 0x1.11301ep+0f,
                     f * 0x1.172b84p+0f, f * 0x1.1d4874p+0f, f * 0x1.2387a6p+0f, f * 0x1.29e9ep+0f,
                     f * 0x1.306fep+0f, f * 0x1.371a74p+0f, f * 0x1.3dea64p+0f, f * 0x1.44e086p+0f,
                     f * 0x1.4bfdaep+0f, f * 0x1.5342b6p+0f, f * 0x1.5ab07ep+0f, f * 0x1.6247ecp+0f);
  const __m512 high =
      _mm512_setr_ps(f * 0x1.6a09e6p+0f, f * 0x1.71f75ep+0f, f * 0x1.7a1148p+0f, f * 0x1.82589ap+0f,
                     f * 0x1.8ace54p+0f, f * 0x1.93737cp+0f, f * 0x1.9c4918p+0f, f * 0x1.a5503cp+0f,
                     f * 0x1.ae89fap+0f, f * 0x1.b7f77p+0f, f * 0x1.c199bep+0f, f * 0x1.cb720ep+0f,
                     f * 0x1.d5818ep+0f, f * 0x1.dfc974p+0f, f * 0x1.ea4afap+0f, f * 0x1.f50766p+0f);
  return {_mm512_permutex2var_ps(low, _mm512_castps_si512(rounded.v), high)};
}
/// The factors of exponentials: exp(x) = power (1 + r q) 2^floor(n), where n is the multiple of 1/32 nearest
/// to x log2(e). The power of n's fraction is looked up in two registers, so a polynomial of the second
/// degree suffices for the rest. For |x| up to 104.
struct ExpFactors {
  Vec power, n, r, q;
};
/// The factors of exp(x) or, with `halves` of -1, of exp(-(x + lost) / 2).
template <int halves = 2>
LATHE_INLINE ExpFactors exp_factors(Vec x, Vec lost = zero()) {
  constexpr float factor = 0.5f * halves;
  const Vec log2e = set(factor * 0x1.715476p+0f), rest = set(factor * 0x1.4ae0cp-26f),
            rounder = set(thirty_seconds);
  const Vec rounded = fma(x, log2e, rounder), n = rounded - rounder;
  Vec r = fma(x, rest, {_mm512_fmsub_ps(x.v, log2e.v, n.v)});
  if constexpr (halves != 2) r = fma(lost, log2e, r);
  return {.power = power_of_fraction(rounded),
          .n = n,
          .r = r,
          .q = fma(r, set(2.402265966e-01f), set(6.931573153e-01f))};
}
/// exp(x) 2^-floor(n) for x in [-104, 104], within 2 ulp. Exact at 0.
LATHE_INLINE Vec exp_without_power(Vec x, Vec& n) {
  const ExpFactors f = exp_factors(x);
  n = f.n;
  return fma(f.power * f.r, f.q, f.power);
}

/// exp(x) for x <= 0, a weight beside a weight of 1: results below the normal numbers are 0. Lanes that
/// become 0 may hold anything before, so that x needs no bound.
LATHE_INLINE Vec exp_weight(Vec x) {
  Vec n;
  const Vec p = exp_without_power(x, n);
  const __mmask16 some = _mm512_cmp_ps_mask(x.v, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);
  return {_mm512_maskz_scalef_ps(some, p.v, n.v)};
}

/// One operation clamps v, but turns NaN into a bound. If the sigmoid is below the normal numbers, it is 0
/// here: the divisor is infinite, or the inverse 0.
///
/// Processors have the fewest units for multiplications, so this exponential takes fewer than the one above:
/// with -v = n log(2) + r it is 2^n (s s + 2 - c c) / 2, where s = r + c, and c exceeds 1 to account for the
/// third degree. One float suffices for log(2): it loses 3e-9 |v| of the exponential.
template <bool divides>
LATHE_INLINE Vec times_sigmoid(Vec x, Vec v) {
  constexpr float c = 0x1.0000f8p+0f, rest = 0x1.fffc2p-1f;  // 2 - c c
  constexpr float most = divides ? 104 : 87.33f;
  constexpr int min_magnitude = 2;  // with the sign of v
  const Vec one = set(1.0f), rounder = set(thirty_seconds);
  const __m512 within = _mm512_range_ps(v.v, _mm512_set1_ps(most), min_magnitude);
  const Vec rounded = {_mm512_fnmadd_ps(within, _mm512_set1_ps(0x1.715476p+0f), rounder.v)},
            n = rounded - rounder,
            s = Vec{_mm512_fnmsub_ps(n.v, _mm512_set1_ps(0x1.62e43p-1f), within)} + set(c);
  const Vec e = scale_by_power(power_of_fraction<1>(rounded), n), d = fma(e, fma(s, s, set(rest)), one);
  if constexpr (divides) return x / d;
  return x * inverse({_mm512_cmp_ps_mask(v.v, _mm512_set1_ps(-most), _CMP_NLT_UQ)}, d);
}
/// x times the normal distribution's cumulative function. For x below zero that is exp(-a^2 / 2) g(a) with a
/// = |x|, where g is a polynomial of 1 / (1 + a / 4); above, it is 1 less that. From a = 14.4 on it is 0 or
/// 1.
LATHE_INLINE Vec gelu(Vec x) {
  constexpr float g[] = {9.980546830e-02f, 9.838760171e-02f,  1.046284931e-01f,
                         2.961091128e-02f, 2.092938057e-01f,  -2.163902244e-01f,
                         3.051743332e-01f, -1.571010500e-01f, 2.659063656e-02f};
  constexpr int min_magnitude = 2 | 2 << 2;  // without a sign
  const Vec most = set(14.4f), one = set(1.0f);
  const Vec a = {_mm512_range_ps(x.v, most.v, min_magnitude)}, d = fma(a, set(0.25f), one);
  const Vec t = inverse({_mm512_cmp_ps_mask(a.v, most.v, _CMP_NGE_UQ)}, d);
  Vec sum = set(g[8]);
  LATHE_UNROLL
  for (int i = 7; i >= 0; --i) sum = fma(sum, t, set(g[i]));
  // The rounding error of the square is worth many ulp of the exponential, so it is added back.
  const Vec square = a * a, lost = {_mm512_fmsub_ps(a.v, a.v, square.v)};
  const ExpFactors f = exp_factors<-1>(square, lost);
  const Vec e = scale_by_power(fma(f.power * f.r, f.q, f.power), f.n), tail = t * sum * e;
  const __mmask16 above = _mm512_knot(_mm512_movepi32_mask(_mm512_castps_si512(x.v)));
  return x * Vec{_mm512_mask_sub_ps(tail.v, above, one.v, tail.v)};
}
LATHE_INLINE void split_exponent(Vec x, Vec& mantissa, Vec& exponent) {
  mantissa = {_mm512_getmant_ps(x.v, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src)};
  // getexp assumes mantissas in [1, 2): if the one above was halved, the exponent is one more.
  const __m512 below_two = _mm512_getmant_ps(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
  const __mmask16 halved = _mm512_cmp_ps_mask(mantissa.v, below_two, _CMP_LT_OQ);
  const __m512 e = _mm512_getexp_ps(x.v);
  exponent = {_mm512_mask_add_ps(e, halved, e, _mm512_set1_ps(1.0f))};
}
LATHE_INLINE float sum_of(Vec x) { return _mm512_reduce_add_ps(x.v); }
LATHE_INLINE float max_of(Vec x) { return _mm512_reduce_max_ps(x.v); }
LATHE_INLINE float min_of(Vec x) { return _mm512_reduce_min_ps(x.v); }
LATHE_INLINE void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

LATHE_INLINE Vec load_i8_as_floats(const int8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
LATHE_INLINE Vec load_f16(const Float16* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
LATHE_INLINE Vec load_f16(const BFloat16* p) {
  const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(bits, 16))};
}
/// Makes all NaN of a sign the same bit pattern, as the scalar conversions do.
LATHE_INLINE Vec plain_nan(Vec x) {
  return select(is_nan(x), copy_sign(set(std::numeric_limits<float>::quiet_NaN()), x), x);
}
LATHE_INLINE void store_f16(Float16* p, Vec x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(plain_nan(x).v, _MM_FROUND_TO_NEAREST_INT));
}
LATHE_INLINE void store_f16(BFloat16* p, Vec x) {
  const __m512i bits = _mm512_castps_si512(plain_nan(x).v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16)));
}
/// The first and the second bfloat16 of each lane that holds two.
LATHE_INLINE Vec first_of_pair(Vec x) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x.v), 16))};
}
LATHE_INLINE Vec second_of_pair(Vec x) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x.v), high))};
}

struct Eight {
  __m256 v;
};
LATHE_INLINE Eight load_eight(const float* p) { return {_mm256_loadu_ps(p)}; }
LATHE_INLINE Eight set_eight(float x) { return {_mm256_set1_ps(x)}; }
LATHE_INLINE void store(float* p, Eight x) { _mm256_storeu_ps(p, x.v); }
LATHE_INLINE Eight operator+(Eight a, Eight b) { return {_mm256_add_ps(a.v, b.v)}; }
LATHE_INLINE Eight operator-(Eight a, Eight b) { return {_mm256_sub_ps(a.v, b.v)}; }
LATHE_INLINE Eight operator*(Eight a, Eight b) { return {_mm256_mul_ps(a.v, b.v)}; }
LATHE_INLINE Eight fma(Eight a, Eight b, Eight c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
LATHE_INLINE Eight min(Eight a, Eight b) { return {_mm256_min_ps(a.v, b.v)}; }
LATHE_INLINE Eight max(Eight a, Eight b) { return {_mm256_max_ps(a.v, b.v)}; }

/// Two pixels; lane i of them is in lanes 2 i and 2 i + 1.
struct Neighbors {
  __m512 v;
  static LATHE_INLINE Neighbors set(float x) { return {_mm512_set1_ps(x)}; }
  static LATHE_INLINE Neighbors load_two(const float* p) {
    double both;
    std::memcpy(&both, p, sizeof both);
    return {_mm512_castpd_ps(_mm512_set1_pd(both))};
  }
  static LATHE_INLINE Neighbors load_eight(const float* p) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return {_mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)))};
  }
  /// Loads eight lanes of each of two pixels.
  static LATHE_INLINE Neighbors load_eights(const float* first, const float* second) {
    const __m512i in_turn = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return {_mm512_permutex2var_ps(_mm512_castps256_ps512(_mm256_loadu_ps(first)), in_turn,
                                   _mm512_castps256_ps512(_mm256_loadu_ps(second)))};
  }
  /// Makes two pixels, each with the same number in all lanes.
  static LATHE_INLINE Neighbors of_two(Vec first, Vec second) {
    return {_mm512_mask_blend_ps(0xaaaa, first.v, second.v)};
  }
  template <int Which>
  LATHE_INLINE Vec of() const {
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    return {_mm512_maskz_permutexvar_ps(0xff, _mm512_or_si512(lanes, _mm512_set1_epi32(Which)), v)};
  }
};
LATHE_INLINE Neighbors fma(Neighbors a, Neighbors b, Neighbors c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
LATHE_INLINE Neighbors min(Neighbors a, Neighbors b) { return {_mm512_min_ps(a.v, b.v)}; }
LATHE_INLINE Neighbors max(Neighbors a, Neighbors b) { return {_mm512_max_ps(a.v, b.v)}; }
