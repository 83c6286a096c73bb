// Transposes squares of Vec, and computes elementary functions over Vec, whatever its width. Polynomials are
// near-minimax fits (Lawson-weighted least squares on Chebyshev nodes, in double); errors are within 4 ulp
// over the whole range (gelu and mish within 7), NaN stays NaN. Included by for_each_isa.h only.

/// Transposes a square: row i becomes column i. Each round is a perfect shuffle of all its elements.
LATHE_INLINE void transpose(Vec (&rows)[Vec::width]) {
  constexpr int64_t half = Vec::width / 2;
  LATHE_UNROLL
  for (int64_t round = 1; round < Vec::width; round *= 2) {
    Vec next[Vec::width];
    LATHE_UNROLL
    for (int64_t i = 0; i < half; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + half]);
      next[2 * i + 1] = zip_high(rows[i], rows[i + half]);
    }
    LATHE_UNROLL
    for (int64_t i = 0; i < Vec::width; ++i) rows[i] = next[i];
  }
}

/// Loads a square transposed: row i is element i of each of `rows` rows, `stride` apart, of `columns`
/// elements; missing elements are 0. `whole`: none is missing. The bits of elements are never changed.
template <bool whole>
LATHE_INLINE void load_transposed(Vec (&to)[Vec::width], const float* from, int64_t stride, int64_t rows,
                                  int64_t columns) {
  LATHE_UNROLL
  for (int64_t i = 0; i < Vec::width; ++i)
    to[i] = whole ? load(from + i * stride) : i < rows ? load_first(from + i * stride, columns) : zero();
  transpose(to);
}

/// A vector for each of Vec::width rows.
struct RowVectors {
  alignas(64) float rows[Vec::width][Vec::width];

  /// Lane i of the result is row i, reduced by Op. Each round shuffles as transpose() does, and leaves half
  /// as many rows.
  template <class Op>
  LATHE_INLINE Vec across() const {
    Vec r[Vec::width];
    LATHE_UNROLL
    for (int64_t i = 0; i < Vec::width; ++i) r[i] = load(rows[i]);
    LATHE_UNROLL
    for (int64_t half = Vec::width / 2; half > 0; half /= 2) {
      LATHE_UNROLL
      for (int64_t i = 0; i < Vec::width / 2; ++i)
        if (i < half) r[i] = Op::join(zip_low(r[i], r[i + half]), zip_high(r[i], r[i + half]));
    }
    return r[0];
  }
};

template <int N>
LATHE_INLINE Vec polynomial(Vec x, const float (&lowest_first)[N]) {
  Vec p = set(lowest_first[N - 1]);
  LATHE_UNROLL
  for (int i = N - 2; i >= 0; --i) p = fma(p, x, set(lowest_first[i]));
  return p;
}

/// sum = fma(a, b, sum). Overload resolution prefers a vector type's own function, which may keep the sum in
/// its register.
template <class V>
LATHE_INLINE void accumulate(V& sum, V a, V b) {
  sum = fma(a, b, sum);
}

/// exp(x) 2^-n, between 0.7 and 1.5, for x in [-104, 104]; n is an integer. Vectors that can look up powers
/// of two have a faster function, which overload resolution prefers.
template <class V>
LATHE_INLINE V exp_without_power(V x, V& n) {
  constexpr float p[] = {5.000000096e-01f, 1.666651771e-01f, 4.166620231e-02f, 8.369025055e-03f,
                         1.395072391e-03f};
  n = round(x * set(1.44269504f));
  // log(2) in two parts: the first ends in zeros, so that its product with n is exact.
  const V r = fma(n, set(2.12194440e-4f), fma(n, set(-0.693359375f), x));
  return fma(r * r, polynomial(r, p), r) + set(1.0f);
}

/// exp(x), and 0 for x below -103.98. Intel's processors take as long for a vector with one result below the
/// normal numbers, even 0, as for sixty others, so lanes that become 0 are not computed.
LATHE_INLINE Vec exp(Vec x) {
  const Vec least = set(-103.98f);
  Vec n;
  const Vec p = exp_without_power(min(set(89.0f), max(least, x)), n);  // beyond: infinity
  const Mask nothing = x < least;
  return select(nothing, zero(), scale_by_power(p, select(nothing, zero(), n)));
}
/// exp(x) for x <= 0, a weight beside a weight of 1: results below the normal numbers are 0. Overload
/// resolution prefers a vector type's own function.
template <class V>
LATHE_INLINE V exp_weight(V x) {
  const V least = set(-87.0f);
  V n;
  const V p = exp_without_power(max(least, x), n);
  return select(x < least, zero(), scale_by_power(p, n));
}

LATHE_INLINE Vec log(Vec x) {
  constexpr float q[] = {3.333333986e-01f,  -2.500016568e-01f, 1.999960598e-01f,
                         -1.665527875e-01f, 1.427616943e-01f,  -1.272789848e-01f,
                         1.170155092e-01f,  -9.117522606e-02f, 3.767872091e-02f};
  const Vec infinity = set(std::numeric_limits<float>::infinity());
  Vec m, e;
  split_exponent(x, m, e);
  const Vec f = m - set(1.0f), f2 = f * f;
  Vec y = fma(f2 * f, polynomial(f, q), e * set(-2.12194440e-4f));
  y = fma(f2, set(-0.5f), y);
  y = fma(e, set(0.693359375f), y + f);
  y = select(x == zero(), negate(infinity), y);
  y = select(x == infinity, infinity, y);
  y = select(x < zero(), set(std::numeric_limits<float>::quiet_NaN()), y);
  return select(is_nan(x), x, y);
}

/// 1 / (1 + exp(u)), numerator and denominator times 2^-64, so that the exponential is finite where results
/// are not 0. From u = -40 down they are 1.
LATHE_INLINE Vec sigmoid_of_negated(Vec u) {
  Vec n;
  const Vec p = exp_without_power(min(set(104.0f), max(set(-40.0f), u)), n), one = set(0x1p-64f);
  return one * inverse(one + scale_by_power(p, n - set(64.0f)));
}
/// x / (1 + exp(-v)), where v is only NaN if x is NaN or infinite: then the result may be infinite, too.
/// Overload resolution prefers a vector type's own function, which may be faster by dividing.
template <bool divides, class V>
LATHE_INLINE V times_sigmoid(V x, V v) {
  return x * sigmoid_of_negated(negate(v));
}
LATHE_INLINE Vec sigmoid(Vec x) { return sigmoid_of_negated(negate(x)); }

LATHE_INLINE Vec tanh(Vec x) {
  constexpr float p[] = {-3.333333091e-01f, 1.333320976e-01f,  -5.394720427e-02f,
                         2.170296711e-02f,  -8.182673868e-03f, 2.147536872e-03f};
  const Vec a = abs(x), z = x * x;
  const Vec small = fma(x * z, polynomial(z, p), x);
  const Vec large = set(1.0f) - set(2.0f) * inverse(exp(min(set(40.0f), a + a)) + set(1.0f));
  return select(a >= set(0.625f), copy_sign(large, x), small);
}

/// exp(x^2) (1 - erf(x)) for x in [0, 14].
LATHE_INLINE Vec scaled_erfc(Vec x) {
  constexpr float q[] = {2.820930134e-01f, 2.821429419e-01f,  2.463203823e-01f, 1.788765918e-01f,
                         7.967334761e-02f, -2.472239436e-02f, 7.537021713e-02f, -3.937613577e-01f,
                         4.521767821e-01f, -2.186538329e-01f, 4.048431370e-02f};
  const Vec t = set(2.0f) * inverse(set(2.0f) + x);
  return t * polynomial(t, q);
}

/// exp(-factor x^2). The rounding error of the square is worth many ulp of the exponential, so it is added
/// back.
LATHE_INLINE Vec bell(Vec x, float factor) {
  const Vec square = x * x, lost = fma(x, x, negate(square));
  const Vec e = exp(set(-factor) * square);
  return fma(e, set(-factor) * lost, e);
}

/// From 1 on it is 1 - exp(polynomial): the exponential is at most 0.16 there, so little of its error is
/// left. From 4 on it is 1.
LATHE_INLINE Vec erf(Vec x) {
  constexpr float p[] = {1.283791671e-01f, -3.761263843e-01f, 1.128378197e-01f, -2.686540003e-02f,
                         5.220945408e-03f, -8.482828525e-04f, 1.125694583e-04f, -9.641510694e-06f};
  constexpr float q[] = {-3.53718759e-04f, -1.12704003e+00f, -6.38225675e-01f, -1.03037372e-01f,
                         2.18053199e-02f,  -2.93960795e-03f, 1.85574070e-04f};
  const Vec a = abs(x), tail = exp_weight(polynomial(min(set(4.0f), a), q));
  return select(a >= set(1.0f), copy_sign(set(1.0f) - tail, x), fma(x, polynomial(x * x, p), x));
}

/// x times the normal distribution's cumulative function, by erfc below zero, where 1 + erf would cancel.
/// Overload resolution prefers a vector type's own function.
template <class V>
LATHE_INLINE V gelu(V x) {
  const V a = min(set(16.0f), abs(x));  // the function is 0 or 1 from there on
  const V tail = set(0.5f) * scaled_erfc(a * set(0.707106781f)) * bell(a, 0.5f);
  return x * select(x < zero(), tail, set(1.0f) - tail);
}

template <bool divides>
LATHE_INLINE Vec gelu_tanh(Vec x) {
  // 0.5 (1 + tanh v) = sigmoid(2v), which keeps small results exact.
  return times_sigmoid<divides>(x, set(1.595769122f) * fma(x * x * x, set(0.044715f), x));
}

LATHE_INLINE Vec log1p_of_positive(Vec x) {
  // log(1 + x) corrected for what 1 + x lost.
  const Vec u = set(1.0f) + x, lost = x - (u - set(1.0f));
  return log(u) + lost / u;
}

LATHE_INLINE Vec softplus(Vec x) { return max(zero(), x) + log1p_of_positive(exp(negate(abs(x)))); }

/// exp(x) - 1 for x <= 0, exact for small x too: tanh(x/2) (1 + exp(x)).
LATHE_INLINE Vec expm1_of_negative(Vec x) { return tanh(x * set(0.5f)) * (exp(x) + set(1.0f)); }

/// x tanh(log(1 + exp(x))) = x (e^2 + 2 e) / (e^2 + 2 e + 2) with e = exp(x): nothing cancels, and one
/// exponential suffices. From 40 on the quotient is 1.
LATHE_INLINE Vec mish(Vec x) {
  const Vec e = exp(min(set(40.0f), x)), p = e * (e + set(2.0f));
  return x * (p / (p + set(2.0f)));
}

/// Sine and cosine of larger arguments are computed one by one: the number of quarter turns must be so small
/// that its products with the parts of pi/2 below are exact.
constexpr float max_reduced = Vec::fuses ? 131072.0f : 1600.0f;

/// x - n pi/2, within about pi / 4, for |x| < max_reduced: exact to the last places of the difference,
/// however much cancels. Each part of pi/2 begins where the one before ends; without fused products they are
/// so short that their products with n are exact.
LATHE_INLINE Vec reduce_by_half_pi(Vec x, Vec& n) {
  constexpr float fused[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
  constexpr float shorter[] = {0x1.922p+0f, -0x1.2afp-18f, 0x1.0b48p-34f, -0x1.ee59dap-50f};
  n = round(x * set(0.636619772f));
  const Vec back = negate(n);
  if constexpr (Vec::fuses) {
    for (float part : fused) x = fma(back, set(part), x);
  } else {
    for (float part : shorter) x = fma(back, set(part), x);
  }
  return x;
}

/// The sine of r + n pi/2.
LATHE_INLINE Vec sine_of_reduced(Vec r, Vec n) {
  constexpr float s[] = {-1.666665375e-01f, 8.332083002e-03f, -1.950431761e-04f};
  constexpr float c[] = {4.166664556e-02f, -1.388724311e-03f, 2.442388904e-05f};
  const Vec z = r * r, half = z * set(0.5f), one = set(1.0f), rest = one - half;
  const Vec sine = fma(r * z, polynomial(z, s), r);
  const Vec cosine = rest + fma(z * z, polynomial(z, c), (one - rest) - half);
  const Vec pairs = n * set(0.5f), whole = floor(pairs), turns = whole * set(0.5f);
  const Vec y = select(whole == pairs, sine, cosine);
  return select(floor(turns) == turns, y, negate(y));
}

struct FarSine {
  static double of(double x) { return ::sin(x); }
};
struct FarCosine {
  static double of(double x) { return ::cos(x); }
};
/// Replaces elements of `y` for which `x` is too large, infinite or NaN.
template <class Far>
void put_far(const float (&x)[Vec::width], float (&y)[Vec::width]) {
  for (int64_t i = 0; i < Vec::width; ++i)
    if (!(x[i] < max_reduced && -x[i] < max_reduced)) y[i] = static_cast<float>(Far::of(x[i]));
}
template <class Far>
LATHE_INLINE Vec with_far(Vec x, Vec y) {
  const Vec none = set(std::numeric_limits<float>::quiet_NaN());
  if (!any_nan(select(abs(x) < set(max_reduced), zero(), none))) return y;
  float from[Vec::width], to[Vec::width];
  store(from, x);
  store(to, y);
  put_far<Far>(from, to);
  return load(to);
}

LATHE_INLINE Vec sin(Vec x) {
  Vec n;
  const Vec r = reduce_by_half_pi(x, n);
  return with_far<FarSine>(x, select(x == zero(), x, sine_of_reduced(r, n)));
}
LATHE_INLINE Vec cos(Vec x) {
  Vec n;
  const Vec r = reduce_by_half_pi(x, n);
  return with_far<FarCosine>(x, sine_of_reduced(r, n + set(1.0f)));
}
