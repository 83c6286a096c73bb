// Narrow element types: the small floats by their fields, and the packed integers.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tensor/element.h"
#include "tensor/to_integer.h"

namespace lathe {
namespace {

/// A small float: sign? exponent mantissa; what its largest codes mean differs from type to type.
struct Format {
  int exponent, mantissa, bias;
  bool has_sign = true;
  bool infinity = false;  // all-ones exponent is infinity and NaN, as in IEEE
  bool fnuz = false;      // no negative zero; its code is the only NaN
  bool finite = false;    // every code is a finite number
};
constexpr Format e4m3fn{4, 3, 7}, e4m3fnuz{4, 3, 8, true, false, true}, e5m2{5, 2, 15, true, true},
    e5m2fnuz{5, 2, 16, true, false, true}, e2m1{2, 1, 1, true, false, false, true},
    e2m3{2, 3, 1, true, false, false, true}, e3m2{3, 2, 3, true, false, false, true},
    half{5, 10, 15, true, true};

constexpr int sign_shift(const Format& f) { return f.exponent + f.mantissa; }

/// Magnitude code of the largest finite number.
constexpr uint32_t largest(const Format& f) {
  const uint32_t all = (1u << sign_shift(f)) - 1;
  if (f.finite || f.fnuz) return all;
  if (f.infinity) return all - (1u << f.mantissa);
  return all - 1;  // e4m3fn: only the very last code is NaN
}

float decode(uint32_t bits, const Format& f) {
  const uint32_t sign = bits >> sign_shift(f) & 1u, magnitude = bits & ((1u << sign_shift(f)) - 1);
  if (f.fnuz && sign && magnitude == 0) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > largest(f)) {
    const bool infinite = f.infinity && magnitude == largest(f) + 1;
    const float v =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return sign ? -v : v;
  }
  const int e = static_cast<int>(magnitude >> f.mantissa);
  const float m = static_cast<float>(magnitude & ((1u << f.mantissa) - 1));
  const float v =
      e ? std::ldexp(1.0f + std::ldexp(m, -f.mantissa), e - f.bias) : std::ldexp(m, 1 - f.bias - f.mantissa);
  return sign ? -v : v;
}

uint32_t encode(double x, const Format& f, bool saturate) {
  const uint32_t sign = std::signbit(x) ? 1u << sign_shift(f) : 0;
  const uint32_t nan = f.fnuz ? 1u << sign_shift(f) : sign | ((1u << sign_shift(f)) - 1);
  if (std::isnan(x)) {
    if (f.finite) return 1u << sign_shift(f);  // no NaN to say it with: -0, as ml_dtypes writes it
    if (f.infinity) return sign | ((((1u << f.exponent) - 1) << f.mantissa) | (1u << (f.mantissa - 1)));
    return nan;
  }
  const double a = std::fabs(x);
  uint32_t code;
  if (std::isinf(a)) {
    code = largest(f) + 1;
  } else if (a == 0) {
    code = 0;
  } else {
    int e;
    std::frexp(a, &e);
    const int exponent = std::max(e - 1, 1 - f.bias);  // subnormals share the lowest exponent
    const double scaled =
        std::nearbyint(std::ldexp(a, f.mantissa - exponent));  // to nearest even, in units of the last place
    if (scaled >= std::ldexp(1.0, f.mantissa + 1))
      code = ((exponent + 1 + f.bias) << f.mantissa);
    else if (scaled >= std::ldexp(1.0, f.mantissa))
      code = ((exponent + f.bias) << f.mantissa) + (static_cast<uint32_t>(scaled) - (1u << f.mantissa));
    else
      code = static_cast<uint32_t>(scaled);
    if (exponent + f.bias > (1 << f.exponent))
      code = largest(f) + 1;  // far beyond: the shift above has wrapped
  }
  if (code > largest(f)) {
    if (f.finite || saturate)
      code = largest(f);
    else
      return f.infinity ? sign | (largest(f) + 1) : nan;
  }
  if (f.fnuz && code == 0) return 0;
  return sign | code;
}

}  // namespace

float to_float(Float16 h) {
  // Exact by arithmetic on the bits: much faster than decode(), for the type that models really use.
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
  uint32_t exponent = h.bits >> 10 & 31u, mantissa = h.bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float v = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -v : v;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

Float16 to_float16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000u,
                 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds to 65520 and beyond
  if (magnitude < 0x38800000u) {  // subnormal: let the adder round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}
Float16 to_float16(double x) { return {static_cast<uint16_t>(encode(x, half, false))}; }

float to_float(Float8E4M3FN x) { return decode(x.bits, e4m3fn); }
float to_float(Float8E4M3FNUZ x) { return decode(x.bits, e4m3fnuz); }
float to_float(Float8E5M2 x) { return decode(x.bits, e5m2); }
float to_float(Float8E5M2FNUZ x) { return decode(x.bits, e5m2fnuz); }
float to_float(Float4E2M1 x) { return decode(x.bits & 15u, e2m1); }
float to_float(Float6E2M3 x) { return decode(x.bits & 63u, e2m3); }
float to_float(Float6E3M2 x) { return decode(x.bits & 63u, e3m2); }
float to_float(Float8E8M0 x) {
  if (x.bits == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, static_cast<int>(x.bits) - 127);
}

Float8E4M3FN to_float8e4m3fn(float x, bool s) { return {static_cast<uint8_t>(encode(x, e4m3fn, s))}; }
Float8E4M3FNUZ to_float8e4m3fnuz(float x, bool s) { return {static_cast<uint8_t>(encode(x, e4m3fnuz, s))}; }
Float8E5M2 to_float8e5m2(float x, bool s) { return {static_cast<uint8_t>(encode(x, e5m2, s))}; }
Float8E5M2FNUZ to_float8e5m2fnuz(float x, bool s) { return {static_cast<uint8_t>(encode(x, e5m2fnuz, s))}; }
Float4E2M1 to_float4e2m1(float x) { return {static_cast<uint8_t>(encode(x, e2m1, true))}; }
Float6E2M3 to_float6e2m3(float x) { return {static_cast<uint8_t>(encode(x, e2m3, true))}; }
Float6E3M2 to_float6e3m2(float x) { return {static_cast<uint8_t>(encode(x, e3m2, true))}; }

Float8E8M0 to_float8e8m0(float x, bool saturate, Round8 round) {
  if (std::isnan(x)) return {255};
  const uint32_t bits = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
  if (bits == 0x7f800000u) return {static_cast<uint8_t>(saturate ? 254 : 255)};
  // Below 2^-127, the least number, there is none but NaN where nothing may be saturated: 0 is no number of
  // the type.
  if (!saturate && bits < 0x400000u) return {255};
  uint32_t exponent = bits >> 23;
  const uint32_t fraction = bits & 0x7fffffu;
  bool carry = false;
  switch (round) {
    case Round8::up:
      carry = fraction > 0 && (exponent > 0 || fraction > 0x400000u);
      break;
    case Round8::nearest:
      carry = exponent > 0 ? fraction >= 0x400000u : fraction > 0x400000u;
      break;
    case Round8::down:
      break;
  }
  if (carry) {
    if (exponent >= 254) return {static_cast<uint8_t>(saturate ? 254 : 255)};
    ++exponent;
  }
  return {static_cast<uint8_t>(exponent)};
}

Tensor widened(const Tensor& packed) {
  const DataType t = packed.type();
  const int bits = bits_of(t), per_byte = 8 / bits;
  const bool extend = t == DataType::int4 || t == DataType::int2;
  Tensor out(extend ? DataType::int8 : DataType::uint8, packed.shape());
  const auto* from = static_cast<const uint8_t*>(packed.data());
  auto* to = static_cast<uint8_t*>(out.data());
  for (int64_t i = 0; i < packed.size(); ++i) {
    uint8_t v = static_cast<uint8_t>(from[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1));
    if (extend && v >> (bits - 1)) v = static_cast<uint8_t>(v | (0xffu << bits));
    to[i] = v;
  }
  return out;
}

void narrow_into(const Tensor& bytes, Tensor& out) {
  const int bits = bits_of(out.type()), per_byte = 8 / bits;
  const auto* from = static_cast<const uint8_t*>(bytes.data());
  auto* to = static_cast<uint8_t*>(out.data());
  std::fill(to, to + out.bytes(), uint8_t{0});
  for (int64_t i = 0; i < out.size(); ++i)
    to[i / per_byte] =
        static_cast<uint8_t>(to[i / per_byte] | (from[i] & ((1 << bits) - 1)) << (i % per_byte * bits));
}

namespace {

inline constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ,
                       Float8E8M0, Float6E2M3, Float6E3M2>
    byte_types;

uint8_t load_packed(const Tensor& t, int64_t i) {
  const int bits = bits_of(t.type()), per_byte = 8 / bits;
  return static_cast<uint8_t>(static_cast<const uint8_t*>(t.data())[i / per_byte] >> (i % per_byte * bits) &
                              ((1 << bits) - 1));
}

void store_packed(Tensor& t, int64_t i, uint8_t v) {
  const int bits = bits_of(t.type()), per_byte = 8 / bits, shift = static_cast<int>(i % per_byte) * bits;
  uint8_t& byte = static_cast<uint8_t*>(t.data())[i / per_byte];
  const int mask = (1 << bits) - 1;
  byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (v & mask) << shift);
}

/// One kind of number as another, whatever its value.
template <class To, class From>
To number(From v) {
  if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>)
    return to_integer_as<To>(static_cast<double>(v));
  else
    return static_cast<To>(v);
}

template <class R>
R load_as(const Tensor& t, int64_t i) {
  if (is_packed(t.type())) {
    const uint8_t v = load_packed(t, i);
    if (t.type() == DataType::float4e2m1) return number<R>(to_float(Float4E2M1{v}));
    const int bits = bits_of(t.type());
    return is_signed_integer(t.type()) && v >> (bits - 1) ? static_cast<R>(v - (1 << bits))
                                                          : static_cast<R>(v);
  }
  // Copied bytewise, since weights in files may be unaligned.
  return for_type(t.type(), byte_types, [&]<class T> {
    T element;
    std::memcpy(&element, static_cast<const std::byte*>(t.data()) + i * sizeof(T), sizeof(T));
    return number<R>(Element<T>::load(element));
  });
}

template <class R>
void store_as(Tensor& t, int64_t i, R v) {
  if (is_packed(t.type())) {
    if (t.type() == DataType::float4e2m1)
      return store_packed(t, i, to_float4e2m1(static_cast<float>(v)).bits);
    return store_packed(t, i, static_cast<uint8_t>(number<int64_t>(v)));
  }
  for_type(t.type(), byte_types,
           [&]<class T> { t.as<T>()[static_cast<size_t>(i)] = Element<T>::store(number<Compute<T>>(v)); });
}

}  // namespace

double load_double(const Tensor& t, int64_t i) { return load_as<double>(t, i); }
int64_t load_int(const Tensor& t, int64_t i) { return load_as<int64_t>(t, i); }
void store_double(Tensor& t, int64_t i, double v) { store_as(t, i, v); }
void store_int(Tensor& t, int64_t i, int64_t v) { store_as(t, i, v); }

std::vector<int64_t> to_ints(const Tensor& t) {
  std::vector<int64_t> v(static_cast<size_t>(t.size()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = load_int(t, static_cast<int64_t>(i));
  return v;
}

}  // namespace lathe
