// Elementwise rows for one instruction set. Included by for_each_isa.h only.

#include "cpu/simd/vec_functions.h"

#define LATHE_UNARY(name, expression)                 \
  struct name {                                       \
    static LATHE_INLINE Vec of(Vec x, Vec a, Vec b) { \
      (void)a, (void)b;                               \
      return expression;                              \
    }                                                 \
  };
LATHE_UNARY(Absolute, abs(x))
LATHE_UNARY(Negative, negate(x))
LATHE_UNARY(Reciprocal, set(1.0f) / x)
LATHE_UNARY(SquareRoot, sqrt(x))
LATHE_UNARY(Exponential, exp(x))
LATHE_UNARY(Logarithm, log(x))
LATHE_UNARY(ErrorFunction, erf(x))
LATHE_UNARY(Floor, floor(x))
LATHE_UNARY(Ceiling, ceil(x))
LATHE_UNARY(NearestEven, round(x))
LATHE_UNARY(TangentH, tanh(x))
LATHE_UNARY(Sigmoid, sigmoid(x))
LATHE_UNARY(Relu, max(zero(), x))
LATHE_UNARY(LeakyRelu, select(x < zero(), a* x, x))
LATHE_UNARY(Elu, select(x < zero(), a* expm1_of_negative(x), x))
LATHE_UNARY(Selu, b* select(x < zero(), a* expm1_of_negative(x), x))
LATHE_UNARY(Celu, select(x < zero(), a* expm1_of_negative(x / a), x))
LATHE_UNARY(Softplus, softplus(x))
LATHE_UNARY(Softsign, x / (set(1.0f) + abs(x)))
LATHE_UNARY(Mish, mish(x))
LATHE_UNARY(Gelu, gelu(x))
LATHE_UNARY(HardSigmoid, min(set(1.0f), max(zero(), a* x + b)))
LATHE_UNARY(HardSwish, x* min(set(1.0f), max(zero(), x / set(6.0f) + set(0.5f))))
LATHE_UNARY(ThresholdedRelu, select(a < x, x, zero()))
LATHE_UNARY(Clip, min(b, max(a, x)))
LATHE_UNARY(Square, x* x)
LATHE_UNARY(Cube, x* x* x)
LATHE_UNARY(Linear, fma(a, x, b))
LATHE_UNARY(Sign, select(zero() < x, set(1.0f), select(x < zero(), set(-1.0f), x)))
LATHE_UNARY(IsNan, select(is_nan(x), set(1.0f), zero()))
LATHE_UNARY(IsInfinite,
            select(abs(x) == set(std::numeric_limits<float>::infinity()), select(x < zero(), a, b), zero()))
LATHE_UNARY(NotZero, select(x == zero(), zero(), set(1.0f)))
LATHE_UNARY(Sine, sin(x))
LATHE_UNARY(Cosine, cos(x))
LATHE_UNARY(Tangent, tan(x))
LATHE_UNARY(ArcSine, asin(x))
LATHE_UNARY(ArcCosine, acos(x))
LATHE_UNARY(ArcTangent, atan(x))
LATHE_UNARY(SineH, sinh(x))
LATHE_UNARY(CosineH, cosh(x))
LATHE_UNARY(InverseSineH, asinh(x))
LATHE_UNARY(InverseCosineH, acosh(x))
LATHE_UNARY(InverseTangentH, atanh(x))
LATHE_UNARY(Shrink, select(x < negate(b), x + a, select(b < x, x - a, zero())))
/// These end with a division, which is fast on some processors.
template <bool divides>
LATHE_UNARY(GeluTanh, gelu_tanh<divides>(x))
template <bool divides>
LATHE_UNARY(Swish, times_sigmoid<divides>(x, a* x))
template <bool divides>
LATHE_UNARY(SwishOfOne, times_sigmoid<divides>(x, x))
#undef LATHE_UNARY

template <class Op>
void unary_row(const float* x, float* y, int64_t n, float a, float b) {
  const Vec va = set(a), vb = set(b);
  for (; n >= Vec::width; n -= Vec::width, x += Vec::width, y += Vec::width)
    store(y, Op::of(load(x), va, vb));
  if (n > 0) store_first(y, Op::of(load_first(x, n), va, vb), n);
}

/// The factor is nearly always 1, and Swish without its multiplication is faster.
template <bool divides>
void swish_row(const float* x, float* y, int64_t n, float a, float b) {
  return a == 1 ? unary_row<SwishOfOne<divides>>(x, y, n, a, b) : unary_row<Swish<divides>>(x, y, n, a, b);
}

#define LATHE_BINARY(name, expression)                              \
  struct name {                                                     \
    static LATHE_INLINE Vec of(Vec x, Vec y) { return expression; } \
  };
LATHE_BINARY(Add, x + y)
LATHE_BINARY(Subtract, x - y)
LATHE_BINARY(Multiply, x* y)
LATHE_BINARY(Divide, x / y)
LATHE_BINARY(Minimum, select(is_nan(x), x, min(x, y)))
LATHE_BINARY(Maximum, select(is_nan(x), x, max(x, y)))
LATHE_BINARY(ParametricRelu, select(x < zero(), x* y, x))
LATHE_BINARY(EqualTo, select(x == y, set(1.0f), zero()))
LATHE_BINARY(LessThan, select(x < y, set(1.0f), zero()))
LATHE_BINARY(NoGreater, select(y >= x, set(1.0f), zero()))
LATHE_BINARY(Differ, select(x == y, zero(), set(1.0f)))
#undef LATHE_BINARY

template <class Op, RowForm Form>
void binary_row(const float* x, const float* y, float* to, int64_t n) {
  constexpr bool one_x = Form == RowForm::left_single, one_y = Form == RowForm::right_single;
  const Vec first_x = one_x ? set(*x) : zero(), first_y = one_y ? set(*y) : zero();
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width)
    store(to + i, Op::of(one_x ? first_x : load(x + i), one_y ? first_y : load(y + i)));
  if (i < n)
    store_first(
        to + i,
        Op::of(one_x ? first_x : load_first(x + i, n - i), one_y ? first_y : load_first(y + i, n - i)),
        n - i);
}

// Element by element: there are no vector instructions for remainders, and in float64 they are exact.
template <bool sign_of_dividend, RowForm Form>
void remainder_row(const float* x, const float* y, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double b = y[Form == RowForm::right_single ? 0 : i];
    double r = ::fmod(x[Form == RowForm::left_single ? 0 : i], b);
    if (!sign_of_dividend && r == r) {
      if (r == 0)
        r = __builtin_copysign(0.0, b);
      else if ((r < 0) != (b < 0))
        r += b;
    }
    to[i] = static_cast<float>(r);
  }
}

template <int Singles>
void choose_row(const float* x, const float* y, const float* z, float* to, int64_t n) {
  constexpr bool one_x = Singles & 1, one_y = Singles & 2, one_z = Singles & 4;
  const Vec first_x = one_x ? set(*x) : zero(), first_y = one_y ? set(*y) : zero(),
            first_z = one_z ? set(*z) : zero();
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width)
    store(to + i, select((one_x ? first_x : load(x + i)) == zero(), one_z ? first_z : load(z + i),
                         one_y ? first_y : load(y + i)));
  if (i < n)
    store_first(
        to + i,
        select((one_x ? first_x : load_first(x + i, n - i)) == zero(),
               one_z ? first_z : load_first(z + i, n - i), one_y ? first_y : load_first(y + i, n - i)),
        n - i);
}

static void load_bools(const uint8_t* __restrict from, float* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}
static void store_bools(const float* __restrict from, uint8_t* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] != 0 ? 1 : 0;
}

template <class Op>
constexpr void fill_unary(ElementwiseKernels& t, UnaryOp op) {
  t.unary[static_cast<size_t>(op)] = unary_row<Op>;
}
template <class Op>
constexpr void fill_binary(ElementwiseKernels& t, BinaryOp op) {
  auto& rows = t.binary[static_cast<size_t>(op)];
  rows[static_cast<size_t>(RowForm::both)] = binary_row<Op, RowForm::both>;
  rows[static_cast<size_t>(RowForm::left_single)] = binary_row<Op, RowForm::left_single>;
  rows[static_cast<size_t>(RowForm::right_single)] = binary_row<Op, RowForm::right_single>;
}
template <bool sign_of_dividend>
constexpr void fill_remainder(ElementwiseKernels& t, BinaryOp op) {
  auto& rows = t.binary[static_cast<size_t>(op)];
  rows[static_cast<size_t>(RowForm::both)] = remainder_row<sign_of_dividend, RowForm::both>;
  rows[static_cast<size_t>(RowForm::left_single)] = remainder_row<sign_of_dividend, RowForm::left_single>;
  rows[static_cast<size_t>(RowForm::right_single)] = remainder_row<sign_of_dividend, RowForm::right_single>;
}
template <int Singles = 0>
constexpr void fill_choose(ElementwiseKernels& t) {
  t.ternary[static_cast<size_t>(TernaryOp::choose)][Singles] = choose_row<Singles>;
  if constexpr (Singles < 7) fill_choose<Singles + 1>(t);
}
template <bool divides>
constexpr ElementwiseKernels make_table() {
  ElementwiseKernels t;
  fill_unary<Absolute>(t, UnaryOp::absolute);
  fill_unary<Negative>(t, UnaryOp::negative);
  fill_unary<Reciprocal>(t, UnaryOp::reciprocal);
  fill_unary<SquareRoot>(t, UnaryOp::square_root);
  fill_unary<Exponential>(t, UnaryOp::exponential);
  fill_unary<Logarithm>(t, UnaryOp::logarithm);
  fill_unary<ErrorFunction>(t, UnaryOp::error_function);
  fill_unary<Floor>(t, UnaryOp::floor);
  fill_unary<Ceiling>(t, UnaryOp::ceiling);
  fill_unary<NearestEven>(t, UnaryOp::nearest_even);
  fill_unary<TangentH>(t, UnaryOp::tangent_h);
  fill_unary<Sigmoid>(t, UnaryOp::sigmoid);
  fill_unary<Relu>(t, UnaryOp::relu);
  fill_unary<LeakyRelu>(t, UnaryOp::leaky_relu);
  fill_unary<Elu>(t, UnaryOp::elu);
  fill_unary<Selu>(t, UnaryOp::selu);
  fill_unary<Celu>(t, UnaryOp::celu);
  fill_unary<Softplus>(t, UnaryOp::softplus);
  fill_unary<Softsign>(t, UnaryOp::softsign);
  fill_unary<Mish>(t, UnaryOp::mish);
  fill_unary<Gelu>(t, UnaryOp::gelu);
  fill_unary<GeluTanh<divides>>(t, UnaryOp::gelu_tanh);
  t.unary[static_cast<size_t>(UnaryOp::swish)] = swish_row<divides>;
  fill_unary<HardSigmoid>(t, UnaryOp::hard_sigmoid);
  fill_unary<HardSwish>(t, UnaryOp::hard_swish);
  fill_unary<ThresholdedRelu>(t, UnaryOp::thresholded_relu);
  fill_unary<Clip>(t, UnaryOp::clip);
  fill_unary<Square>(t, UnaryOp::square);
  fill_unary<Cube>(t, UnaryOp::cube);
  fill_unary<Linear>(t, UnaryOp::linear);
  fill_unary<Sign>(t, UnaryOp::sign);
  fill_unary<IsNan>(t, UnaryOp::is_nan);
  fill_unary<IsInfinite>(t, UnaryOp::is_infinite);
  fill_unary<NotZero>(t, UnaryOp::not_zero);
  fill_unary<Sine>(t, UnaryOp::sine);
  fill_unary<Cosine>(t, UnaryOp::cosine);
  fill_unary<Tangent>(t, UnaryOp::tangent);
  fill_unary<ArcSine>(t, UnaryOp::inverse_sine);
  fill_unary<ArcCosine>(t, UnaryOp::inverse_cosine);
  fill_unary<ArcTangent>(t, UnaryOp::inverse_tangent);
  fill_unary<SineH>(t, UnaryOp::sine_h);
  fill_unary<CosineH>(t, UnaryOp::cosine_h);
  fill_unary<InverseSineH>(t, UnaryOp::inverse_sine_h);
  fill_unary<InverseCosineH>(t, UnaryOp::inverse_cosine_h);
  fill_unary<InverseTangentH>(t, UnaryOp::inverse_tangent_h);
  fill_unary<Shrink>(t, UnaryOp::shrink);
  fill_binary<Add>(t, BinaryOp::add);
  fill_binary<Subtract>(t, BinaryOp::subtract);
  fill_binary<Multiply>(t, BinaryOp::multiply);
  fill_binary<Divide>(t, BinaryOp::divide);
  fill_binary<Minimum>(t, BinaryOp::minimum);
  fill_binary<Maximum>(t, BinaryOp::maximum);
  fill_binary<ParametricRelu>(t, BinaryOp::parametric_relu);
  fill_binary<EqualTo>(t, BinaryOp::equal);
  fill_binary<LessThan>(t, BinaryOp::less);
  fill_binary<NoGreater>(t, BinaryOp::less_or_equal);
  fill_binary<Differ>(t, BinaryOp::differ);
  fill_remainder<true>(t, BinaryOp::remainder);
  fill_remainder<false>(t, BinaryOp::modulo);
  fill_choose(t);
  t.load_bools = load_bools;
  t.store_bools = store_bools;
  return t;
}
constexpr ElementwiseKernels table = make_table<false>(), dividing_table = make_table<true>();
