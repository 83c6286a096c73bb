#include "ops/binary/binary.h"

#include <cmath>
#include <functional>

#include "kernel/lean_reference.h"
#include "ops/binary/functions.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

/// Arithmetic of integers wraps around: it is done on unsigned numbers, for which that is defined.
template <class L>
using Wrapping = std::conditional_t<std::is_same_v<L, double>, double, uint64_t>;

/// out[i] = function(a[i], b[i]) in the lane of the inputs' type.
template <class Op, auto function>
void pairwise(const Op&, KernelContext& c) {
  map_numbers(c, 2, []<class L>(const L* const* in, L* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<L>(function(in[0][i], in[1][i]));
  });
}
template <class Op, auto function>
void typed_binary(KernelCatalog& k, const char* name) {
  lean_reference<Op>(k, name, pairwise<Op, function>);
}

/// The same for arithmetic that wraps around.
template <class Op, auto function>
void wrapping_binary(KernelCatalog& k, const char* name) {
  lean_reference<Op>(k, name, [](const Op&, KernelContext& c) {
    map_numbers(c, 2, []<class L>(const L* const* in, L* out, int64_t n) {
      using W = Wrapping<L>;
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<L>(function(static_cast<W>(in[0][i]), static_cast<W>(in[1][i])));
    });
  });
}

/// Bits of integers, whatever their sign; bools too.
template <class Op, auto function>
void bitwise_binary(KernelCatalog& k, const char* name) {
  lean_reference<Op>(k, name, [](const Op&, KernelContext& c) {
    map_lanes<uint64_t>(c, 2, [](const uint64_t* const* in, uint64_t* out, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[i] = function(in[0][i], in[1][i]);
    });
  });
}

[[noreturn]] void division_by_zero(const KernelContext& c) {
  c.fail(Code::run_bad_value, "divisors that are not 0", "an integer divided by 0",
         "check the data that the divisor comes from");
}

void divide(const Div&, KernelContext& c) {
  map_numbers(c, 2, [&]<class L>(const L* const* in, L* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const L a = in[0][i], b = in[1][i];
      if constexpr (std::is_same_v<L, double>) {
        out[i] = a / b;
      } else {
        if (b == 0) division_by_zero(c);
        if constexpr (std::is_signed_v<L>)
          out[i] = b == -1 ? static_cast<L>(0 - static_cast<uint64_t>(a)) : a / b;
        else
          out[i] = a / b;
      }
    }
  });
}

template <class L>
L integer_modulo(L a, L b, bool sign_of_dividend) {
  if constexpr (std::is_signed_v<L>) {
    if (b == -1) return 0;  // the smallest number has no negative
    const L r = a % b;
    return !sign_of_dividend && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  return a % b;
}

void mod_elements(const Mod& op, KernelContext& c) {
  map_numbers(c, 2, [&]<class L>(const L* const* in, L* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<L, double>) {
        out[i] = modulo(in[0][i], in[1][i], op.fmod);
      } else {
        if (in[1][i] == 0) division_by_zero(c);
        out[i] = integer_modulo(in[0][i], in[1][i], op.fmod);
      }
    }
  });
}

/// The exponent has a type of its own: whole numbers to whole powers stay exact.
void power(const Pow&, KernelContext& c) {
  if (is_float(c.in(0).type()) || is_float(c.in(1).type()))
    map_lanes<double>(c, 2, [](const double* const* in, double* out, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[i] = std::pow(in[0][i], in[1][i]);
    });
  else
    map_lanes<int64_t>(c, 2, [](const int64_t* const* in, int64_t* out, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[i] = integer_power(in[0][i], in[1][i]);
    });
}

/// Shifts by too much (or by a negative number) leave what extends the sign.
void bit_shift(const BitShift& op, KernelContext& c) {
  const auto bits = static_cast<uint64_t>(bits_of(c.in(0).type()));
  map_numbers(c, 2, [&]<class L>(const L* const* in, L* out, int64_t n) {
    if constexpr (!std::is_same_v<L, double>)
      for (int64_t i = 0; i < n; ++i) {
        const L x = in[0][i];
        const auto by = static_cast<uint64_t>(in[1][i]);
        if (by >= bits)
          out[i] = !op.to_left() && x < 0 ? static_cast<L>(-1) : L(0);
        else
          out[i] = op.to_left() ? static_cast<L>(static_cast<uint64_t>(x) << by) : static_cast<L>(x >> by);
      }
  });
}

void equal_strings(KernelContext& c) {
  Tensor& out = c.out(0);
  const Shape* shapes[] = {&c.in(0).shape(), &c.in(1).shape()};
  const BroadcastRows rows(c, out.shape(), shapes);
  const auto a = c.in(0).as<std::string>(), b = c.in(1).as<std::string>();
  c.parallel(out.size(), 1024, [&](int64_t begin, int64_t end) {
    c.poll();
    rows.each(begin, end, [&](int64_t to, const int64_t* from, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        out.as<bool>()[static_cast<size_t>(to + i)] = a[static_cast<size_t>(from[0] + i * rows.step(0))] ==
                                                      b[static_cast<size_t>(from[1] + i * rows.step(1))];
    });
  });
}

void equal(const Equal& op, KernelContext& c) {
  if (c.in(0).type() == DataType::string) return equal_strings(c);
  pairwise<Equal, std::equal_to<>{}>(op, c);
}

/// Folds any number of inputs; NaN in any of them wins.
template <class Op, auto better>
void extreme(const Op&, KernelContext& c) {
  if (c.inputs() == 0) c.fail(Code::internal, "an input", "none");
  map_numbers(c, c.inputs(), [&]<class L>(const L* const* in, L* out, int64_t n) {
    std::copy_n(in[0], n, out);
    for (size_t k = 1; k < c.inputs(); ++k)
      for (int64_t i = 0; i < n; ++i)
        if (better(in[k][i], out[i]) || in[k][i] != in[k][i]) out[i] = in[k][i];
  });
}

template <class Op>
void sum_of_inputs(const Op&, KernelContext& c) {
  if (c.inputs() == 0) c.fail(Code::internal, "an input", "none");
  const double share = std::is_same_v<Op, Mean> ? static_cast<double>(c.inputs()) : 1;
  map_lanes<double>(c, c.inputs(), [&](const double* const* in, double* out, int64_t n) {
    std::copy_n(in[0], n, out);
    for (size_t k = 1; k < c.inputs(); ++k)
      for (int64_t i = 0; i < n; ++i) out[i] += in[k][i];
    for (int64_t i = 0; i < n; ++i) out[i] /= share;
  });
}

}  // namespace

void reference_binary(KernelCatalog& k) {
  wrapping_binary<Add, [](auto a, auto b) { return a + b; }>(k, "Add");
  wrapping_binary<Sub, [](auto a, auto b) { return a - b; }>(k, "Sub");
  wrapping_binary<Mul, [](auto a, auto b) { return a * b; }>(k, "Mul");
  lean_reference<Div>(k, "Div", divide);
  lean_reference<Mod>(k, "Mod", mod_elements);
  lean_reference<Pow>(k, "Pow", power);
  lean_reference<BitShift>(k, "BitShift", bit_shift);
  bitwise_binary<BitwiseAnd, [](uint64_t a, uint64_t b) { return a & b; }>(k, "BitwiseAnd");
  bitwise_binary<BitwiseOr, [](uint64_t a, uint64_t b) { return a | b; }>(k, "BitwiseOr");
  bitwise_binary<BitwiseXor, [](uint64_t a, uint64_t b) { return a ^ b; }>(k, "BitwiseXor");
  bitwise_binary<And, [](uint64_t a, uint64_t b) { return a & b; }>(k, "And");
  bitwise_binary<Or, [](uint64_t a, uint64_t b) { return a | b; }>(k, "Or");
  bitwise_binary<Xor, [](uint64_t a, uint64_t b) { return a ^ b; }>(k, "Xor");
  lean_reference<Equal>(k, "Equal", equal);
  typed_binary<Greater, std::greater<>{}>(k, "Greater");
  typed_binary<GreaterOrEqual, std::greater_equal<>{}>(k, "GreaterOrEqual");
  typed_binary<Less, std::less<>{}>(k, "Less");
  typed_binary<LessOrEqual, std::less_equal<>{}>(k, "LessOrEqual");
  lean_reference<Max>(k, "Max", extreme<Max, std::greater<>{}>);
  lean_reference<Min>(k, "Min", extreme<Min, std::less<>{}>);
  lean_reference<Sum>(k, "Sum", sum_of_inputs<Sum>);
  lean_reference<Mean>(k, "Mean", sum_of_inputs<Mean>);
}

}  // namespace lathe
