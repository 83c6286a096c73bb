// Elementary functions of doubles without branches, which compilers vectorize. Polynomials and argument
// reductions are those of FDLIBM (Sun Microsystems, 1993) and, for tanh, of Cephes (Moshier, 1989); errors
// are within 2.5 ulp. Included by typed_elementwise_body.h only.

LATHE_INLINE double from_bits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
LATHE_INLINE uint64_t to_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
LATHE_INLINE double at_most(double x, double most) { return either_of(x > most, most, x); }
LATHE_INLINE double at_least(double x, double least) { return either_of(x < least, least, x); }

/// Adding this to a number below 2^51 rounds it to an integer, whose two's complement is then in the low
/// bits.
constexpr double to_whole = 0x1.8p52;
constexpr double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;

/// 2^n for an integer n whose power is a normal number.
LATHE_INLINE double power_of_two(double n) {
  return from_bits((to_bits(n + to_whole) << 52) + (uint64_t{1023} << 52));
}
LATHE_INLINE double exponential(double x) {
  constexpr double p1 = 1.66666666666666019037e-01, p2 = -2.77777777770155933842e-03,
                   p3 = 6.61375632143793436117e-05, p4 = -1.65339022054652515390e-06,
                   p5 = 4.13813679705723846039e-08;
  const double within = at_least(at_most(x, 710), -746);  // beyond: infinity, and 0
  const double n = (within * 1.44269504088896338700 + to_whole) - to_whole;
  const double high = within - n * log2_high, low = n * log2_low, r = high - low, z = r * r;
  const double c = r - z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * p5))));
  const double y = 1 - ((low - (r * c) / (2 - c)) - high);
  // Multiplies with two powers, both of which are normal numbers.
  const double half = (n * 0.5 + to_whole) - to_whole;
  return y * power_of_two(half) * power_of_two(n - half);
}

LATHE_INLINE double logarithm(double x) {
  constexpr double l1 = 6.666666666666735130e-01, l2 = 3.999999999940941908e-01,
                   l3 = 2.857142874366239149e-01, l4 = 2.222219843214978396e-01,
                   l5 = 1.818357216161805012e-01, l6 = 1.531383769920937332e-01,
                   l7 = 1.479819860511658591e-01;
  constexpr uint64_t one = 0x3ff0000000000000, root_of_half = 0x3fe6a09e00000000;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool small = x < 0x1p-1022;
  const uint64_t bits = to_bits(either_of(small, x * 0x1p54, x)) + (one - root_of_half);
  // Writes the exponent into the low bits of a double, and subtracts its bias.
  const double n =
      from_bits(0x4330000000000000 | (bits >> 52)) - either_of(small, 0x1p52 + 1077, 0x1p52 + 1023);
  const double f = from_bits((bits & 0x000fffffffffffff) + root_of_half) - 1, half = 0.5 * f * f;
  const double s = f / (2 + f), z = s * s, w = z * z;
  const double rest = z * (l1 + w * (l3 + w * (l5 + w * l7))) + w * (l2 + w * (l4 + w * l6));
  const double y = s * (half + rest) + n * log2_low - half + f + n * log2_high;
  const double zero_or_less = either_of(x == 0, -infinity, std::numeric_limits<double>::quiet_NaN());
  return either_of(x > 0, either_of(x == infinity, x, y), either_of(x <= 0, zero_or_less, x));
}

LATHE_INLINE double tangent_h(double x) {
  constexpr double p0 = -1.61468768441708447952e3, p1 = -9.92877231001918586564e1,
                   p2 = -9.64399179425052238628e-1;
  constexpr double q0 = 4.84406305325125486048e3, q1 = 2.23548839060100448583e3,
                   q2 = 1.12811678491632931402e2;
  const double a = __builtin_fabs(x), z = x * x;
  const double small = x + x * (z * ((p0 + z * (p1 + z * p2)) / (q0 + z * (q1 + z * (q2 + z)))));
  const double large = 1 - 2 / (exponential(a + a) + 1);
  return either_of(a < 0.625, small, __builtin_copysign(large, x));
}

/// exp(x) / (1 + exp(x)) for x < 0, which stays exact for small results.
LATHE_INLINE double sigmoid_of(double x) {
  const double e = exponential(-__builtin_fabs(x));
  return either_of(x < 0, e, 1) / (1 + e);
}
/// Adds a correction to log(1 + e) for the rounding of 1 + e.
LATHE_INLINE double softplus_of(double x) {
  const double e = exponential(-__builtin_fabs(x)), u = 1 + e;
  return at_least(x, 0) + (logarithm(u) + (e - (u - 1)) / u);
}
