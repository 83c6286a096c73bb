// Vec for AVX2 with FMA. The vocabulary is described in vec_generic.h. Included by for_each_isa.h only.

struct Vec {
  static constexpr int64_t width = 8;
  static constexpr bool fuses = true;
  __m256 v;
};
struct Mask {
  __m256 m;
};

LATHE_INLINE __m256i first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
LATHE_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
LATHE_INLINE Vec set(float x) { return {_mm256_set1_ps(x)}; }
LATHE_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
LATHE_INLINE void store(float* p, Vec x) { _mm256_storeu_ps(p, x.v); }
LATHE_INLINE void stream(float* p, Vec x) { _mm256_stream_ps(p, x.v); }
LATHE_INLINE void streamed() { _mm_sfence(); }
LATHE_INLINE Vec load_even(const float* p) {
  const __m256 pairs = _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), 0x88);
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8))};
}
LATHE_INLINE Vec gather(const float* p, const int32_t* at) {
  return {_mm256_i32gather_ps(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), sizeof(float))};
}
LATHE_INLINE Vec gather_near(const float* p, const int32_t* at) {
  const __m256i i =
      _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), _mm256_set1_epi32(at[0]));
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p + at[0]), i);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p + at[0] + 8), i);
  return {_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)))};
}
LATHE_INLINE Vec zip_low(Vec a, Vec b) {
  return {_mm256_permute2f128_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v), 0x20)};
}
LATHE_INLINE Vec zip_high(Vec a, Vec b) {
  return {_mm256_permute2f128_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v), 0x31)};
}
LATHE_INLINE Vec load_first(const float* p, int64_t n) { return {_mm256_maskload_ps(p, first(n))}; }
LATHE_INLINE Vec load_first(const float* p, int64_t n, Vec rest) {
  return {_mm256_blendv_ps(rest.v, _mm256_maskload_ps(p, first(n)), _mm256_castsi256_ps(first(n)))};
}
LATHE_INLINE void store_first(float* p, Vec x, int64_t n) { _mm256_maskstore_ps(p, first(n), x.v); }

LATHE_INLINE Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
LATHE_INLINE Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
/// 1 / x, if neither is 0, denormal or infinite.
LATHE_INLINE Vec inverse(Vec x) { return {_mm256_div_ps(_mm256_set1_ps(1), x.v)}; }
LATHE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
/// sum += a * b, in the register of the sum: otherwise gcc moves sums between registers, which are too few
/// here for the copies back.
LATHE_INLINE void accumulate(Vec& sum, Vec a, Vec b) {
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.v) : "x"(a.v), "x"(b.v));
}
LATHE_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
LATHE_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
LATHE_INLINE Vec sqrt(Vec x) { return {_mm256_sqrt_ps(x.v)}; }
LATHE_INLINE Vec abs(Vec x) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x.v)}; }
LATHE_INLINE Vec negate(Vec x) { return {_mm256_xor_ps(x.v, _mm256_set1_ps(-0.0f))}; }
LATHE_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.v), _mm256_and_ps(bit, sign.v))};
}
LATHE_INLINE Vec round(Vec x) {
  return {_mm256_round_ps(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
LATHE_INLINE Vec floor(Vec x) { return {_mm256_floor_ps(x.v)}; }
LATHE_INLINE Vec ceil(Vec x) { return {_mm256_ceil_ps(x.v)}; }

LATHE_INLINE Mask operator<(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
LATHE_INLINE Mask operator>=(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_GE_OQ)}; }
LATHE_INLINE Mask operator==(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
LATHE_INLINE Mask is_nan(Vec x) { return {_mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q)}; }
LATHE_INLINE bool any_nan(Vec x) { return _mm256_movemask_ps(is_nan(x).m) != 0; }
LATHE_INLINE Vec select(Mask m, Vec a, Vec b) { return {_mm256_blendv_ps(b.v, a.v, m.m)}; }

LATHE_INLINE Vec scale_by_power(Vec x, Vec n) {
  const __m256i whole = _mm256_cvtps_epi32(n.v), half = _mm256_srai_epi32(whole, 1),
                rest = _mm256_sub_epi32(whole, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256 a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const __m256 b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return {_mm256_mul_ps(_mm256_mul_ps(x.v, a), b)};
}
/// exp(x) 2^more if that is a normal number, otherwise undefined, but NaN stays if `more` is 0. The integer
/// power of two is added to the exponent directly, and the polynomial's terms depend on one another as little
/// as possible, since a thread that shares its core executes few vectors ahead.
template <int more = 0>
LATHE_INLINE Vec exp_of_normal(Vec x) {
  const Vec n = round(x * set(1.44269504f));
  // log(2) in two parts: the first ends in zeros, so that its product with n is exact.
  const Vec r = fma(n, set(2.12194440e-4f), fma(n, set(-0.693359375f), x)), square = r * r;
  const Vec low = fma(r, set(1.666652065e-01f), set(4.999999345e-01f));
  const Vec high = fma(square, set(1.381460199e-03f), fma(r, set(8.368715204e-03f), set(4.166838789e-02f)));
  const Vec p = fma(square, fma(square, high, low), r) + set(1.0f);
  const __m256i power = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(more));
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p.v), _mm256_slli_epi32(power, 23)))};
}
/// exp(x) for x <= 0, a weight beside a weight of 1: results below the normal numbers are 0.
LATHE_INLINE Vec exp_weight(Vec x) {
  const __m256 some = _mm256_cmp_ps(x.v, _mm256_set1_ps(-87), _CMP_NLT_UQ);
  return {_mm256_and_ps(exp_of_normal(x).v, some)};
}
/// If the sigmoid is below the normal numbers, the divisor is infinite, so that the result is 0, or NaN if x
/// is infinite. Dividing takes no longer than an inverse would.
template <bool divides>
LATHE_INLINE Vec times_sigmoid(Vec x, Vec v) {
  const Vec most = set(87.33f), infinity = set(std::numeric_limits<float>::infinity()), u = negate(v);
  const Vec e = exp_of_normal(min(most, max(negate(most), u)));
  const __m256 nothing = _mm256_cmp_ps(u.v, most.v, _CMP_GT_OQ);
  return x / (Vec{_mm256_blendv_ps(e.v, infinity.v, nothing)} + set(1));
}
/// x times the normal distribution's cumulative function. For x below zero that is exp(-a^2 / 2) g(a) with a
/// = |x|, where g is a polynomial of 1 / (1 + a / 4); above, it is 1 less that. From a = 14.4 on it is 0 or
/// 1.
LATHE_INLINE Vec gelu(Vec x) {
  const Vec most = set(14.4f), one = set(1), half = set(-0.5f), a = min(most, abs(x));
  const Vec t = inverse(fma(a, set(0.25f), one)), t2 = t * t, t4 = t2 * t2;
  const Vec g01 = fma(t, set(9.838760171e-02f), set(9.980546830e-02f)),
            g23 = fma(t, set(2.961091128e-02f), set(1.046284931e-01f)),
            g45 = fma(t, set(-2.163902244e-01f), set(2.092938057e-01f)),
            g67 = fma(t, set(-1.571010500e-01f), set(3.051743332e-01f));
  const Vec high = fma(t4, set(2.659063656e-02f), fma(t2, g67, g45)), g = fma(t4, high, fma(t2, g23, g01));
  // The rounding error of the square is worth many ulp of the exponential, so it is added back.
  const Vec square = a * a, lost = {_mm256_fmsub_ps(a.v, a.v, square.v)},
            e = exp_of_normal<32>(half * square);
  const __m256 some = _mm256_cmp_ps(a.v, most.v, _CMP_LT_OQ);
  const Vec tail = {_mm256_and_ps((t * g * fma(e, half * lost, e) * set(0x1p-32f)).v, some)};
  return x * Vec{_mm256_blendv_ps((one - tail).v, tail.v, x.v)};
}
LATHE_INLINE void split_exponent(Vec x, Vec& mantissa, Vec& exponent) {
  const Mask tiny = x < set(std::numeric_limits<float>::min());
  const __m256i bits = _mm256_castps_si256(select(tiny, x * set(8388608.0f), x).v);
  // Counting from the bits of 0.75 puts the mantissa into [0.75, 1.5).
  const __m256i from = _mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f400000));
  const __m256i e = _mm256_srai_epi32(from, 23);
  mantissa = {_mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(e, 23)))};
  exponent = Vec{_mm256_cvtepi32_ps(e)} - select(tiny, set(23.0f), zero());
}
LATHE_INLINE float sum_of(Vec x) {
  const __m128 h = _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  const __m128 q = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
LATHE_INLINE float max_of(Vec x) {
  const __m128 h = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  const __m128 q = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}
LATHE_INLINE float min_of(Vec x) {
  const __m128 h = _mm_min_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  const __m128 q = _mm_min_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_min_ss(q, _mm_movehdup_ps(q)));
}
LATHE_INLINE void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

LATHE_INLINE Vec load_i8_as_floats(const int8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
}
LATHE_INLINE Vec load_f16(const Float16* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
LATHE_INLINE Vec load_f16(const BFloat16* p) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(bits, 16))};
}
/// Makes all NaN of a sign the same bit pattern, as the scalar conversions do.
LATHE_INLINE Vec plain_nan(Vec x) {
  return select(is_nan(x), copy_sign(set(std::numeric_limits<float>::quiet_NaN()), x), x);
}
LATHE_INLINE void store_f16(Float16* p, Vec x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(plain_nan(x).v, _MM_FROUND_TO_NEAREST_INT));
}
LATHE_INLINE void store_f16(BFloat16* p, Vec x) {
  const __m256i bits = _mm256_castps_si256(plain_nan(x).v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i high = _mm256_srli_epi32(up, 16);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}
/// The first and the second bfloat16 of each lane that holds two.
LATHE_INLINE Vec first_of_pair(Vec x) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x.v), 16))};
}
LATHE_INLINE Vec second_of_pair(Vec x) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(x.v), high))};
}

using Neighbors = void;
using Eight = Vec;
LATHE_INLINE Eight load_eight(const float* p) { return load(p); }
LATHE_INLINE Eight set_eight(float x) { return set(x); }
