// The loops of typed_elementwise.h. The compiler vectorizes them as wide as the instruction set allows.
// Included by for_each_isa.h only.

// An element is read before the same one is written, and no other depends on it, even if both are the same
// memory.
#if defined(__clang__)
#define LATHE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LATHE_INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 1")  // nor is the rest of a row unrolled
#endif

/// Integers become unsigned integers of their size, which wrap around.
template <class T>
struct BitsOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct BitsOf<float> {
  using Type = float;
};
template <>
struct BitsOf<double> {
  using Type = double;
};

/// A quotient that is not an integer is at least the divisor's inverse below the next integer. Floats with
/// eight digits more than the integers are closer together there, so rounding never reaches it.
template <class T>
LATHE_INLINE T quotient(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return x / y;
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(static_cast<int32_t>(static_cast<float>(x) / static_cast<float>(y)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(static_cast<int64_t>(static_cast<double>(x) / static_cast<double>(y)));
  } else if constexpr (std::is_signed_v<T>) {
    return y == -1 ? static_cast<T>(0 - static_cast<uint64_t>(x)) : x / y;
  } else {
    return x / y;
  }
}
/// Selects by bits, because a branch around arithmetic would keep the compiler from vectorizing it.
LATHE_INLINE double either_of(bool first, double x, double y) {
  const uint64_t all = uint64_t{0} - uint64_t{first};
  return __builtin_bit_cast(
      double, (__builtin_bit_cast(uint64_t, x) & all) | (__builtin_bit_cast(uint64_t, y) & ~all));
}
/// Compilers do not vectorize floor or ceil as long as floating-point exceptions can be observed. Numbers of
/// 2^52 and more are integers; these and NaN are returned unchanged.
LATHE_INLINE double nearest_even(double x) {
  constexpr double whole = 0x1p52;
  const double size = __builtin_fabs(x);
  return either_of(size < whole, __builtin_copysign((size + whole) - whole, x), x);
}
LATHE_INLINE double floor_of(double x) {
  const double near = nearest_even(x);
  return __builtin_copysign(near - either_of(near > x, 1, 0), x);
}
LATHE_INLINE double ceiling_of(double x) {
  const double near = nearest_even(x);
  return __builtin_copysign(near + either_of(near < x, 1, 0), x);
}
#include "cpu/elementwise/double_functions.h"

template <class T>
LATHE_INLINE T rest(T x, T y) {
  using U = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;
  return static_cast<T>(static_cast<U>(x) - static_cast<U>(quotient(x, y)) * static_cast<U>(y));
}
template <class T>
LATHE_INLINE T rest_like_divisor(T x, T y) {
  const T r = rest(x, y);
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(((r != 0) & ((r < 0) != (y < 0))) ? r + y : r);
  else
    return r;
}
template <class T>
LATHE_INLINE T shifted_left(T x, T by) {  // unsigned
  constexpr unsigned bits = sizeof(T) * 8;
  const T to = static_cast<T>(x << (by & static_cast<T>(bits - 1)));
  return by < bits ? to : T{0};
}
/// Shifts by all bits or more leave copies of the sign. A negative count is larger than any.
template <class T>
LATHE_INLINE T shifted_right(T x, T by) {
  constexpr unsigned bits = sizeof(T) * 8;
  const bool beyond = static_cast<std::make_unsigned_t<T>>(by) >= bits;
  const T to = static_cast<T>(x >> (by & static_cast<T>(bits - 1)));
  return beyond ? static_cast<T>(x < 0 ? -1 : 0) : to;
}

#define LATHE_BINARY(name, expression)      \
  struct name {                             \
    template <class T>                      \
    static LATHE_INLINE auto of(T x, T y) { \
      return expression;                    \
    }                                       \
  };
LATHE_BINARY(Add, static_cast<T>(x + y))
LATHE_BINARY(Subtract, static_cast<T>(x - y))
LATHE_BINARY(Divide, quotient(x, y))
LATHE_BINARY(Remainder, rest(x, y))
LATHE_BINARY(Modulo, rest_like_divisor(x, y))
LATHE_BINARY(Minimum, ((y < x) | (y != y)) ? y : x)  // NaN wins
LATHE_BINARY(Maximum, ((y > x) | (y != y)) ? y : x)
LATHE_BINARY(Equal, x == y)
LATHE_BINARY(Less, x < y)
LATHE_BINARY(LessOrEqual, x <= y)
LATHE_BINARY(Alike, (x != 0) == (y != 0))
LATHE_BINARY(Both, bool((x != 0) & (y != 0)))
LATHE_BINARY(Either, (x | y) != 0)
LATHE_BINARY(Differ, (x != 0) != (y != 0))
LATHE_BINARY(BitAnd, static_cast<T>(x& y))
LATHE_BINARY(BitOr, static_cast<T>(x | y))
LATHE_BINARY(BitXor, static_cast<T>(x ^ y))
LATHE_BINARY(ShiftLeft, shifted_left(x, y))
LATHE_BINARY(ShiftRight, shifted_right(x, y))
#undef LATHE_BINARY
struct Multiply {
  template <class T>
  static LATHE_INLINE T of(T x, T y) {
    if constexpr (sizeof(T) < 4)  // int would overflow
      return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
    else
      return x * y;
  }
};

template <class F, class T>
static void pair_row(const void* xs, const void* ys, void* out, int64_t n) {
  using R = decltype(F::of(T{}, T{}));
  static_assert(std::is_same_v<R, T> || std::is_same_v<R, bool>);
  const T* const x = static_cast<const T*>(xs);
  const T* const y = static_cast<const T*>(ys);
  R* const to = static_cast<R*>(out);
  LATHE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i], y[i]);
}

#define LATHE_SINGLE(name, expression) \
  struct name {                        \
    template <class T>                 \
    static LATHE_INLINE T of(T x) {    \
      return expression;               \
    }                                  \
  };
LATHE_SINGLE(NegativeInteger, static_cast<T>(0 - x))
LATHE_SINGLE(NegativeFloat, -x)
LATHE_SINGLE(Sign, x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : x)  // NaN stays NaN
LATHE_SINGLE(Invert, static_cast<T>(~x))
LATHE_SINGLE(Contradict, static_cast<T>(x == 0))
LATHE_SINGLE(SquareRootOf, __builtin_sqrt(x))
LATHE_SINGLE(Inverse, 1 / x)
LATHE_SINGLE(FloorOf, floor_of(x))
LATHE_SINGLE(CeilingOf, ceiling_of(x))
LATHE_SINGLE(NearestEvenOf, nearest_even(x))
LATHE_SINGLE(ExponentialOf, exponential(x))
LATHE_SINGLE(LogarithmOf, logarithm(x))
LATHE_SINGLE(TangentHOf, tangent_h(x))
LATHE_SINGLE(SigmoidOf, sigmoid_of(x))
LATHE_SINGLE(SoftplusOf, softplus_of(x))
#undef LATHE_SINGLE
struct AbsoluteOf {
  template <class T>
  static LATHE_INLINE T of(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return __builtin_fabs(x);
    else if constexpr (std::is_signed_v<T>)
      return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
    else
      return x;
  }
};

template <class F, class T>
static void single_row(const void* xs, void* out, int64_t n) {
  const T* const x = static_cast<const T*>(xs);
  T* const to = static_cast<T*>(out);
  LATHE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i]);
}

template <class T>
static void clip_row(const void* xs, void* out, int64_t n, const void* least, const void* most) {
  const T* const x = static_cast<const T*>(xs);
  T* const to = static_cast<T*>(out);
  const T low = *static_cast<const T*>(least), high = *static_cast<const T*>(most);
  LATHE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T above = x[i] < low ? low : x[i];
    to[i] = above > high ? high : above;
  }
}

using Integers = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegersAndDouble =
    Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, double>;
using Numbers =
    Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, double, float>;

template <class T>
constexpr size_t column = static_cast<size_t>(type_of<T>);

/// Fills a row of a table for each type, or for the unsigned type of its size.
template <class F, class... T>
consteval void each(TypedBinaryRow* row, Types<T...>) {
  ((row[column<T>] = pair_row<F, T>), ...);
}
template <class F, class... T>
consteval void by_bits(TypedBinaryRow* row, Types<T...>) {
  ((row[column<T>] = pair_row<F, typename BitsOf<T>::Type>), ...);
}
template <class F, class... T>
consteval void each(SingleRow* row, Types<T...>) {
  ((row[column<T>] = single_row<F, T>), ...);
}
template <class F, class... T>
consteval void by_bits(SingleRow* row, Types<T...>) {
  ((row[column<T>] = single_row<F, typename BitsOf<T>::Type>), ...);
}
template <class... T>
consteval void each_clip(BoundedRow* row, Types<T...>) {
  ((row[column<T>] = clip_row<T>), ...);
}

consteval TypedKernels make_table() {
  TypedKernels k;
  const auto pair = [&](TypedBinaryOp op) { return k.pair[static_cast<size_t>(op)]; };
  const auto single = [&](SingleOp op) { return k.single[static_cast<size_t>(op)]; };
  by_bits<Add>(pair(TypedBinaryOp::add), IntegersAndDouble());
  by_bits<Subtract>(pair(TypedBinaryOp::subtract), IntegersAndDouble());
  by_bits<Multiply>(pair(TypedBinaryOp::multiply), IntegersAndDouble());
  each<Divide>(pair(TypedBinaryOp::divide), IntegersAndDouble());
  each<Remainder>(pair(TypedBinaryOp::remainder), Integers());
  each<Modulo>(pair(TypedBinaryOp::modulo), Integers());
  each<Minimum>(pair(TypedBinaryOp::minimum), IntegersAndDouble());
  each<Maximum>(pair(TypedBinaryOp::maximum), IntegersAndDouble());
  by_bits<Equal>(pair(TypedBinaryOp::equal), Numbers());
  each<Less>(pair(TypedBinaryOp::less), Numbers());
  each<LessOrEqual>(pair(TypedBinaryOp::less_or_equal), Numbers());
  pair(TypedBinaryOp::equal)[column<bool>] = pair_row<Alike, uint8_t>;
  pair(TypedBinaryOp::both)[column<bool>] = pair_row<Both, uint8_t>;
  pair(TypedBinaryOp::either)[column<bool>] = pair_row<Either, uint8_t>;
  pair(TypedBinaryOp::differ)[column<bool>] = pair_row<Differ, uint8_t>;
  by_bits<BitAnd>(pair(TypedBinaryOp::bit_and), Integers());
  by_bits<BitOr>(pair(TypedBinaryOp::bit_or), Integers());
  by_bits<BitXor>(pair(TypedBinaryOp::bit_xor), Integers());
  by_bits<ShiftLeft>(pair(TypedBinaryOp::shift_left), Integers());
  each<ShiftRight>(pair(TypedBinaryOp::shift_right), Integers());
  by_bits<NegativeInteger>(single(SingleOp::negative), Integers());
  each<NegativeFloat>(single(SingleOp::negative), Types<double>());
  each<AbsoluteOf>(single(SingleOp::absolute), IntegersAndDouble());
  each<Sign>(single(SingleOp::sign), IntegersAndDouble());
  by_bits<Invert>(single(SingleOp::invert), Integers());
  single(SingleOp::contradict)[column<bool>] = single_row<Contradict, uint8_t>;
  each<SquareRootOf>(single(SingleOp::square_root), Types<double>());
  each<Inverse>(single(SingleOp::reciprocal), Types<double>());
  each<FloorOf>(single(SingleOp::floor), Types<double>());
  each<CeilingOf>(single(SingleOp::ceiling), Types<double>());
  each<NearestEvenOf>(single(SingleOp::nearest_even), Types<double>());
  each<ExponentialOf>(single(SingleOp::exponential), Types<double>());
  each<LogarithmOf>(single(SingleOp::logarithm), Types<double>());
  each<TangentHOf>(single(SingleOp::tangent_h), Types<double>());
  each<SigmoidOf>(single(SingleOp::sigmoid), Types<double>());
  each<SoftplusOf>(single(SingleOp::softplus), Types<double>());
  each_clip(k.clip, IntegersAndDouble());
  return k;
}
constexpr TypedKernels table = make_table();
