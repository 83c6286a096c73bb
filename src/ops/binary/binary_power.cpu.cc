// Powers of numbers, whose exponents may be of another type.
#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/support.h"
#include "ops/binary/binary.h"
#include "ops/binary/functions.h"
#include "tensor/to_integer.h"

namespace lathe {
namespace {

inline constexpr Types<float, double, int32_t, int64_t> power_types;

/// Powers that are a function of one element: the exponent is a constant of one element. The linear function
/// is 1 x + -0, which keeps -0.
std::optional<cpu::UnaryOp> power(double exponent) {
  if (exponent == 2) return cpu::UnaryOp::square;
  if (exponent == 3) return cpu::UnaryOp::cube;
  if (exponent == 1) return cpu::UnaryOp::linear;
  if (exponent == -1) return cpu::UnaryOp::reciprocal;
  return std::nullopt;
}

Support supports_power(const Pow&, const KernelQuery& r) {
  const Support x = cpu::supports_type(r.inputs[0].type, power_types);
  return x.accepted ? cpu::supports_type(r.inputs[1].type, power_types) : x;
}

/// Returns whether x * x replaces the power. An integer to a float power is computed in double, whose
/// overflow differs.
bool is_square(double exponent, DataType x, DataType of_exponent) {
  return exponent == 2 && (x == DataType::float64 || (is_integer(x) && is_integer(of_exponent)));
}

std::optional<Pointwise> describe_power(const Pow& op, const KernelQuery& r) {
  const Tensor* exponent = r.inputs[1].constant;
  const bool single =
      exponent && exponent->size() == 1 && r.inputs[0].shape && exponent->rank() <= r.inputs[0].shape->size();
  if (!single || !supports_power(op, r).accepted) return std::nullopt;
  const double by = load_double(*exponent, 0);
  const DataType x = r.inputs[0].type;
  if (is_square(by, x, exponent->type()))
    return Pointwise{1, {Pointwise::of(TypedBinaryOp::multiply, x, 0, 0)}};
  const auto function = cpu::refuse_unless_float32(r) ? std::nullopt : power(by);
  if (!function) return std::nullopt;
  return Pointwise::unary(*function, 1, -0.0f);
}

/// Integers to integer powers stay exact; other powers are computed in double, but for two float32.
template <class X, class E>
X power_of(X x, E e) {
  if constexpr (std::is_same_v<X, float> && std::is_same_v<E, float>)
    return std::pow(x, e);
  else if constexpr (std::is_integral_v<X> && std::is_integral_v<E>)
    return static_cast<X>(integer_power(x, e));
  else if constexpr (std::is_integral_v<X>)
    return to_integer_as<X>(std::pow(static_cast<double>(x), static_cast<double>(e)));
  else
    return static_cast<X>(std::pow(static_cast<double>(x), static_cast<double>(e)));
}

void raise(const Tensor& x, const Tensor& exponent, Tensor& to, KernelContext& c) {
  for_type(x.type(), power_types, [&]<class X> {
    for_type(exponent.type(), power_types, [&]<class E> {
      cpu::map_binary(x.as<X>().data(), x.shape(), exponent.as<E>().data(), exponent.shape(),
                      to.as<X>().data(), c, power_of<X, E>);
    });
  });
}

template <Isa isa>
void run_power(const Pow&, KernelContext& c) {
  const Tensor &x = c.in(0), &exponent = c.in(1);
  Tensor& to = c.out(0);
  if (exponent.size() == 1 && exponent.rank() <= x.rank()) {
    const double by = load_double(exponent, 0);
    const auto function = x.type() == DataType::float32 ? power(by) : std::nullopt;
    if (function)
      return cpu::apply_unary(isa, *function, cpu::floats(x), cpu::floats(to), x.size(), 1, -0.0f, c);
    if (is_square(by, x.type(), exponent.type()))
      return cpu::apply_typed_binary(isa, cpu::TypedBinaryOp::multiply, x, x, to, c);
  }
  raise(x, exponent, to, c);
}

}  // namespace

void cpu_binary_power(KernelCatalog& k);
void cpu_binary_power(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Pow>({.op = "Pow", .name = cpu::kernel_name("pow", isa), .isa = isa},
               {.run = run_power<isa>, .supports = supports_power});
  });
  k.pointwise<Pow>("Pow", describe_power);
}

}  // namespace lathe
