// Elementary functions over Vec that only elementwise kernels use, with the accuracy stated in vec_math.h.
// Odd functions are computed for |x|, so that -0 stays -0. Included by elementwise_body.h only.

/// pi / 2 in two parts.
constexpr float half_pi = 0x1.921fb6p+0f, half_pi_rest = -0x1.777a5cp-25f;

struct FarTangent {
  static double of(double x) { return ::tan(x); }
};
LATHE_INLINE Vec tan(Vec x) {
  constexpr float p[] = {3.333312354e-01f, 1.333967228e-01f, 5.333832819e-02f,
                         2.469254809e-02f, 2.696194448e-03f, 9.637624110e-03f};
  Vec n;
  const Vec r = reduce_by_half_pi(x, n), z = r * r, t = fma(r * z, polynomial(z, p), r);
  const Vec pairs = n * set(0.5f), y = select(floor(pairs) == pairs, t, set(-1.0f) / t);
  return with_far<FarTangent>(x, select(x == zero(), x, y));
}

/// The inverse sine of s, in [0, 1/2], as the sum s + rest.
struct InverseSine {
  Vec s, rest;
};
/// The inverse sine of a = |x| below 1/2, or, if a is greater, of sqrt((1 - a) / 2), which is half of
/// acos(a).
LATHE_INLINE InverseSine inverse_sine(Vec a, Mask half_angle) {
  constexpr float p[] = {1.666675248e-01f, 7.495297643e-02f, 4.547037590e-02f, 2.417951499e-02f,
                         4.216630791e-02f};
  const Vec z = select(half_angle, (set(1.0f) - a) * set(0.5f), a * a), s = select(half_angle, sqrt(z), a);
  return {s, s * z * polynomial(z, p)};
}
/// pi / 2 less s + rest.
LATHE_INLINE Vec half_pi_less(Vec s, Vec rest) { return (set(half_pi) - s) - (rest - set(half_pi_rest)); }

LATHE_INLINE Vec asin(Vec x) {
  const Vec a = abs(x);
  const Mask far = a >= set(0.5f);
  const auto [s, rest] = inverse_sine(a, far);
  return copy_sign(select(far, half_pi_less(s + s, rest + rest), s + rest), x);
}
LATHE_INLINE Vec acos(Vec x) {
  const Vec a = abs(x);
  const Mask far = a >= set(0.5f);
  const auto [s, rest] = inverse_sine(a, far);
  const Vec y = half_pi_less(select(far, s, copy_sign(s, x)), select(far, rest, copy_sign(rest, x)));
  const Vec half = select(x < zero(), y, s + rest);
  return select(far, half + half, y);
}
LATHE_INLINE Vec atan(Vec x) {
  constexpr float p[] = {-3.333315274e-01f, 1.999377282e-01f, -1.421105522e-01f, 1.066600431e-01f,
                         -7.552213598e-02f, 4.321185284e-02f, -1.636792317e-02f, 2.920691039e-03f};
  const Vec a = abs(x);
  const Mask far = a >= set(1.0f);  // then the angle is pi / 2 less that of 1 / a
  const Vec t = select(far, set(1.0f) / a, a), z = t * t, rest = t * z * polynomial(z, p);
  return copy_sign(select(far, half_pi_less(t, rest), t + rest), x);
}

/// exp(a) / 2 for a >= 0, which is finite wherever the hyperbolic sine is.
LATHE_INLINE Vec half_exp(Vec a) {
  Vec n;
  const Vec p = exp_without_power(min(set(90.0f), a), n);
  return scale_by_power(p, n - set(1.0f));
}
LATHE_INLINE Vec sinh(Vec x) {
  constexpr float p[] = {1.666666650e-01f, 8.333350058e-03f, 1.983615978e-04f, 2.816951226e-06f};
  const Vec a = abs(x), z = a * a, e = half_exp(a);
  return copy_sign(select(a < set(1.0f), fma(a * z, polynomial(z, p), a), e - set(0.25f) / e), x);
}
LATHE_INLINE Vec cosh(Vec x) {
  const Vec e = half_exp(abs(x));
  return e + set(0.25f) / e;
}

/// log(a + sqrt(a^2 + c)) for a >= 1 and c of 1 or -1, which is negligible beside a great a.
LATHE_INLINE Vec log_of_both(Vec a, float c) {
  const Mask great = a >= set(0x1p+20f);
  const Vec both = a + sqrt(fma(a, a, set(c)));
  return log(select(great, a, both)) + select(great, set(0.693147181f), zero());
}
LATHE_INLINE Vec asinh(Vec x) {
  constexpr float p[] = {-1.666662930e-01f, 7.498703859e-02f, -4.448701231e-02f, 2.945316227e-02f,
                         -1.917585116e-02f, 1.042390866e-02f, -3.834371475e-03f, 6.730084576e-04f};
  const Vec a = abs(x), z = a * a;
  return copy_sign(select(a < set(1.0f), fma(a * z, polynomial(z, p), a), log_of_both(a, 1)), x);
}
/// Near 1 it is sqrt(2 t) times a polynomial of t = x - 1; below 1 it is NaN, the root of a negative number.
LATHE_INLINE Vec acosh(Vec x) {
  constexpr float p[] = {-8.333309720e-02f, 1.874515033e-02f,  -5.546789305e-03f,
                         1.789233988e-03f,  -5.077318058e-04f, 8.309705410e-05f};
  const Vec t = x - set(1.0f), root = sqrt(t + t);
  return select(t < set(1.0f), fma(root * t, polynomial(t, p), root), log_of_both(x, -1));
}
LATHE_INLINE Vec atanh(Vec x) {
  constexpr float p[] = {3.333330007e-01f, 2.000251828e-01f, 1.422276218e-01f,
                         1.182372949e-01f, 5.135825856e-02f, 1.766911620e-01f};
  const Vec a = abs(x), z = a * a, one = set(1.0f);
  const Vec near = fma(a * z, polynomial(z, p), a), far = set(0.5f) * log((one + a) / (one - a));
  return copy_sign(select(a < set(0.5f), near, far), x);
}
