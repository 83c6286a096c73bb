// The loops of casts.h. The compiler vectorizes them as wide as the instruction set allows. Included by
// for_each_isa.h only.

/// Converts as tensor/to_integer.h does, without branches: values that do not fit are replaced before the
/// conversion.
template <class T>
LATHE_INLINE int64_t whole64(T x) {
  const bool fits = (x >= T(-0x1p63)) & (x < T(0x1p63));
  return static_cast<int64_t>(fits ? x : T(-0x1p63));
}
template <class T>
LATHE_INLINE int32_t whole32(T x) {
  const bool fits = (x >= T(-0x1p31)) & (x < T(0x1p31));
  return static_cast<int32_t>(fits ? x : T(-0x1p31));
}
/// Values of the upper half are reduced by 2^63 first.
template <class T>
LATHE_INLINE uint64_t natural64(T x) {
  const bool upper = (x >= T(0x1p63)) & (x < T(0x1p64));
  const T less = upper ? T(0x1p63) : T(0);
  return static_cast<uint64_t>(whole64(x - less)) ^ uint64_t { upper } << 63;
}

/// The float next to x whose last bit is 1, unless x is a float: so the bits that are lost still affect
/// rounding to fewer bits.
static void to_odd_row(const void* xs, void* out, int64_t n) {
  const double* __restrict x = static_cast<const double*>(xs);
  uint32_t* __restrict to = static_cast<uint32_t*>(out);
  LATHE_ROLLED
  for (int64_t i = 0; i < n; ++i) {
    const auto near = static_cast<float>(x[i]);
    const auto back = static_cast<double>(near);
    const auto bits = __builtin_bit_cast(uint32_t, near);
    const uint32_t odd = (bits - uint32_t{__builtin_fabs(back) > __builtin_fabs(x[i])}) | 1;
    to[i] = ((back == x[i]) | (x[i] != x[i])) ? bits : odd;
  }
}

template <class To, class From>
LATHE_INLINE To converted(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_integral_v<From> || std::is_floating_point_v<To>)
    return static_cast<To>(x);
  else if constexpr (std::is_same_v<To, uint64_t>)
    return natural64(x);
  else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>)
    return static_cast<To>(whole64(x));
  else
    return static_cast<To>(whole32(x));
}

template <class To, class From>
static void cast_row(const void* xs, void* out, int64_t n) {
  const From* __restrict x = static_cast<const From*>(xs);
  To* __restrict to = static_cast<To*>(out);
  LATHE_ROLLED
  for (int64_t i = 0; i < n; ++i) to[i] = converted<To>(x[i]);
}

template <class From, class To>
consteval SingleRow row_between() {
  // bools are bytes: all values but 0 are true.
  using Source = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
  if constexpr (std::is_integral_v<Source> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    // Bits are copied or dropped; the sign matters only if the type becomes wider.
    using Target = std::make_unsigned_t<To>;
    if constexpr (sizeof(To) <= sizeof(Source))
      return cast_row<Target, std::make_unsigned_t<Source>>;
    else
      return cast_row<Target, Source>;
  } else if constexpr (std::is_integral_v<Source> && std::is_same_v<To, bool>) {
    return cast_row<bool, std::make_unsigned_t<Source>>;
  } else {
    return cast_row<To, Source>;
  }
}
template <class From, class... To>
consteval void to_each(SingleRow* row, Types<To...>) {
  ((row[static_cast<size_t>(type_of<To>)] = row_between<From, To>()), ...);
}
template <class... T>
consteval CastKernels make_table(Types<T...> types) {
  CastKernels k;
  (to_each<T>(k.rows[static_cast<size_t>(type_of<T>)], types), ...);
  k.to_odd = to_odd_row;
  return k;
}
constexpr CastKernels table = make_table(
    Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>());
