// Functions of two float32 elements (and sums, differences, products and extremes of integers) with
// broadcasting.
#include "ops/binary/binary.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/move.h"
#include "ops/movement.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using F = cpu::BinaryOp;

/// Is it computed at all, of however many inputs?
template <class Op, F function>
Verdict ask_type(DataType type) {
  const bool integers = !std::is_same_v<Op, Mean> && function != F::divide;
  if (type == DataType::float32 || (integers && (type == DataType::int32 || type == DataType::int64)))
    return Verdict::yes();
  return Verdict::no("not for " + std::string(name_of(type)));
}

template <class Op, F function>
Verdict ask(const Op&, const KernelRequest& r) {
  constexpr size_t most = Pointwise::most_operands;
  if (r.inputs.size() < 2 || r.inputs.size() > most)
    return Verdict::no("only from 2 to " + std::to_string(most) + " inputs");
  if (r.inputs.size() > 2 && r.inputs[0].type != DataType::float32)
    return Verdict::no("more than two inputs only of float32");
  return ask_type<Op, function>(r.inputs[0].type);
}

/// Of any number of inputs.
template <class Op, F function>
Verdict ask_rest(const Op& op, const KernelRequest& r) {
  if (ask<Op, function>(op, r).accepted) return Verdict::no("in one pass");
  return ask_type<Op, function>(r.inputs[0].type);
}

/// What a sum of so many is multiplied by.
template <class Op>
float share(size_t inputs) {
  return std::is_same_v<Op, Mean> ? 1 / static_cast<float>(inputs) : 1;
}

/// What the program has come to, times a number.
Pointwise::Instruction scaled(float by, const Pointwise& p) {
  const auto last = static_cast<uint16_t>(p.operands + p.code.size() - 1);
  return {.op = static_cast<uint8_t>(cpu::UnaryOp::linear), .from = {last}, .a = by, .b = -0.0f};
}

template <class Op, F function>
std::optional<Pointwise> describe(const Op&, const KernelRequest& r) {
  if (r.inputs.size() > Pointwise::most_operands || cpu::refuse_unless_float32(r)) return std::nullopt;
  // One number stays what it is, -0 too.
  if (r.inputs.size() < 2) return Pointwise::unchanged();
  Pointwise p = Pointwise::folded(function, r.inputs.size());
  if (std::is_same_v<Op, Mean>) p.code.push_back(scaled(share<Op>(r.inputs.size()), p));
  return p;
}

template <class T>
void run_integer(F function, const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c) {
  cpu::apply_binary_integer(function, x.as<T>().data(), x.shape(), y.as<T>().data(), y.shape(),
                            to.as<T>().data(), c);
}

/// to = function(x, y).
template <F function, Isa isa>
void combine_two(const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c) {
  if (x.type() == DataType::int32) return run_integer<int32_t>(function, x, y, to, c);
  if (x.type() == DataType::int64) return run_integer<int64_t>(function, x, y, to, c);
  cpu::apply_binary(isa, function, x, y, to, c);
}

template <class Op>
void take_share(Isa isa, KernelContext& c) {
  Tensor& to = c.out(0);
  if (std::is_same_v<Op, Mean>)
    cpu::apply_unary(isa, cpu::UnaryOp::linear, cpu::floats(to), cpu::floats(to), to.size(),
                     share<Op>(c.inputs()), -0.0f, c);
}

template <class Op, F function, Isa isa>
void run(const Op&, KernelContext& c) {
  if (c.inputs() > 2)
    cpu::apply_folded(isa, function, c);
  else
    combine_two<function, isa>(c.in(0), c.in(1), c.out(0), c);
  take_share<Op>(isa, c);
}

/// One input after the other goes into what the first has become in the result's shape.
template <class Op, F function, Isa isa>
void run_rest(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& to = c.out(0);
  Shape strides = row_major(x.shape());
  for (size_t a = 0; a < x.rank(); ++a)
    if (x.dim(a) == 1) strides[a] = 0;
  while (strides.size() < to.rank()) strides.insert(strides.begin(), 0);
  cpu::move({x.data(), strides}, to.data(), row_major(to.shape()), to.shape(), cpu::element_bytes(to), c);
  for (size_t i = 1; i < c.inputs(); ++i) combine_two<function, isa>(to, c.in(i), to, c);
  take_share<Op>(isa, c);
}

/// Powers that are a function of one element: the exponent is a constant of one element. As a linear function
/// x is 1 x + -0, which leaves a -0 what it is.
std::optional<cpu::UnaryOp> power(float exponent) {
  if (exponent == 2) return cpu::UnaryOp::square;
  if (exponent == 3) return cpu::UnaryOp::cube;
  if (exponent == 1) return cpu::UnaryOp::linear;
  if (exponent == -1) return cpu::UnaryOp::reciprocal;
  return std::nullopt;
}

Verdict ask_power(const Pow&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  return Verdict::yes();
}

std::optional<Pointwise> describe_power(const Pow&, const KernelRequest& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  const Tensor* exponent = r.inputs[1].constant;
  const bool single =
      exponent && exponent->size() == 1 && r.inputs[0].shape && exponent->rank() <= r.inputs[0].shape->size();
  const auto function = single ? power(*cpu::floats(*exponent)) : std::nullopt;
  if (!function) return std::nullopt;
  return Pointwise::unary(*function, 1, -0.0f);
}

template <Isa isa>
void run_power(const Pow&, KernelContext& c) {
  const Tensor &x = c.in(0), &exponent = c.in(1);
  const bool single = exponent.size() == 1 && exponent.rank() <= x.rank();
  if (const auto function = single ? power(*cpu::floats(exponent)) : std::nullopt)
    return cpu::apply_unary(isa, *function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), 1, -0.0f, c);
  cpu::map_pairs(cpu::floats(x), x.shape(), cpu::floats(exponent), exponent.shape(), cpu::floats(c.out(0)), c,
                 [](float a, float b) { return std::pow(a, b); });
}

inline constexpr Types<float, int32_t, int64_t> compared_types;
inline constexpr Types<int32_t, int64_t> divided_types;

template <class Op>
Verdict ask_compare(const Op&, const KernelRequest& r) {
  return cpu::ask_type(r.inputs[0].type, compared_types);
}

/// Truth from two numbers.
template <class Op, auto relation>
void compare(const Op&, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  bool* const to = c.out(0).as<bool>().data();
  for_type(x.type(), compared_types, [&]<class T> {
    cpu::map_pairs(x.as<T>().data(), x.shape(), y.as<T>().data(), y.shape(), to, c, relation);
  });
}

/// Truth from two truths.
template <class Op, auto relation>
void combine(const Op&, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  cpu::map_pairs(x.as<bool>().data(), x.shape(), y.as<bool>().data(), y.shape(), c.out(0).as<bool>().data(),
                 c, relation);
}

/// Of two numbers, in this order or the other.
template <class Op, F function, bool reversed = false>
std::optional<Pointwise> describe_relation(const Op&, const KernelRequest& r) {
  for (const KernelRequest::Operand& o : r.inputs)
    if (o.type != DataType::float32 && o.type != DataType::boolean) return std::nullopt;
  return reversed ? Pointwise::reversed(function) : Pointwise::binary(function);
}

Verdict ask_remainder(const Mod&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  return Verdict::yes();
}
F function_of(const Mod& op) { return op.fmod ? F::remainder : F::modulo; }
template <Isa isa>
void run_remainder(const Mod& op, KernelContext& c) {
  cpu::apply_binary(isa, function_of(op), c.in(0), c.in(1), c.out(0), c);
}
std::optional<Pointwise> describe_remainder(const Mod& op, const KernelRequest& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  return Pointwise::binary(function_of(op));
}

Verdict ask_quotient(const Div&, const KernelRequest& r) {
  return cpu::ask_type(r.inputs[0].type, divided_types);
}

/// Whether or not anything is divided by them.
template <class T>
void refuse_zeros(const Tensor& divisors, KernelContext& c) {
  const T* const list = divisors.as<T>().data();
  Poller(c).pieces(divisors.size(), 1, [&](int64_t begin, int64_t end) {
    if (std::find(list + begin, list + end, T{0}) != list + end)
      c.fail(Code::run_bad_value, "divisors that are not 0", "an integer divided by 0",
             "check the data that the divisor comes from");
  });
}

/// `f` of a number and one that is not 0.
template <class T, class Function>
void map_divided(KernelContext& c, Function f) {
  const Tensor &x = c.in(0), &y = c.in(1);
  if (x.size() > 0) refuse_zeros<T>(y, c);
  cpu::map_pairs(x.as<T>().data(), x.shape(), y.as<T>().data(), y.shape(), c.out(0).as<T>().data(), c, f);
}

/// Towards zero; the smallest number divided by -1 is itself.
void quotient(const Div&, KernelContext& c) {
  for_type(c.in(0).type(), divided_types, [&]<class T>() -> void {
    map_divided<T>(c, [](T a, T b) {
      using U = std::make_unsigned_t<T>;
      return b == -1 ? static_cast<T>(0 - static_cast<U>(a)) : static_cast<T>(a / b);
    });
  });
}

inline constexpr Types<int32_t, int64_t, uint32_t, uint64_t> remaining_types;
Verdict ask_rest_of_integers(const Mod&, const KernelRequest& r) {
  return cpu::ask_type(r.inputs[0].type, remaining_types);
}
/// With the divisor's sign, or the dividend's.
void rest_of_integers(const Mod& op, KernelContext& c) {
  for_type(c.in(0).type(), remaining_types, [&]<class T>() -> void {
    const bool of_dividend = op.fmod;
    map_divided<T>(c, [=](T a, T b) {
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return T{0};  // the smallest number has no negative
        const T r = static_cast<T>(a % b);
        return !of_dividend && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      } else {
        return static_cast<T>(a % b);
      }
    });
  });
}

}  // namespace

void cpu_binary_bits(KernelCatalog& k);

void cpu_binary(KernelCatalog& k) {
  cpu_binary_bits(k);
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, F function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, function, isa>, .ask = ask<Op, function>});
      k.pointwise<Op>(op, describe<Op, function>);
    };
    add.template operator()<Add, F::add>("Add", "add");
    add.template operator()<Sub, F::subtract>("Sub", "sub");
    add.template operator()<Mul, F::multiply>("Mul", "mul");
    add.template operator()<Div, F::divide>("Div", "div");
    auto add_many = [&]<class Op, F function>(const char* op, const char* name) {
      add.template operator()<Op, function>(op, name);
      k.add<Op>({.op = op, .name = cpu::kernel_name(std::string(name) + "_of_many", isa), .isa = isa},
                {.run = run_rest<Op, function, isa>, .ask = ask_rest<Op, function>});
    };
    add_many.template operator()<Sum, F::add>("Sum", "sum");
    add_many.template operator()<Mean, F::add>("Mean", "mean");
    add_many.template operator()<Min, F::minimum>("Min", "min");
    add_many.template operator()<Max, F::maximum>("Max", "max");
    k.add<Pow>({.op = "Pow", .name = cpu::kernel_name("pow", isa), .isa = isa},
               {.run = run_power<isa>, .ask = ask_power});
    k.add<Mod>({.op = "Mod", .name = cpu::kernel_name("mod", isa), .isa = isa},
               {.run = run_remainder<isa>, .ask = ask_remainder});
  });
  k.pointwise<Mod>("Mod", describe_remainder);
  k.pointwise<Equal>("Equal", describe_relation<Equal, F::equal>);
  k.pointwise<Less>("Less", describe_relation<Less, F::less>);
  k.pointwise<LessOrEqual>("LessOrEqual", describe_relation<LessOrEqual, F::less_or_equal>);
  k.pointwise<Greater>("Greater", describe_relation<Greater, F::less, true>);
  k.pointwise<GreaterOrEqual>("GreaterOrEqual", describe_relation<GreaterOrEqual, F::less_or_equal, true>);
  // Of 0 and 1.
  k.pointwise<And>("And", describe_relation<And, F::minimum>);
  k.pointwise<Or>("Or", describe_relation<Or, F::maximum>);
  k.pointwise<Xor>("Xor", describe_relation<Xor, F::differ>);
  k.pointwise<Pow>("Pow", describe_power);
  const auto plain = [&]<class Op>(const char* op, const char* name, void (*run)(const Op&, KernelContext&),
                                   std::type_identity_t<Verdict (*)(const Op&, const KernelRequest&)> ask) {
    k.add<Op>({.op = op, .name = cpu::kernel_name(name, Isa::generic)}, {.run = run, .ask = ask});
  };
  plain("Equal", "equal", compare<Equal, std::equal_to<>{}>, ask_compare<Equal>);
  plain("Greater", "greater", compare<Greater, std::greater<>{}>, ask_compare<Greater>);
  plain("GreaterOrEqual", "greater_or_equal", compare<GreaterOrEqual, std::greater_equal<>{}>,
        ask_compare<GreaterOrEqual>);
  plain("Less", "less", compare<Less, std::less<>{}>, ask_compare<Less>);
  plain("LessOrEqual", "less_or_equal", compare<LessOrEqual, std::less_equal<>{}>, ask_compare<LessOrEqual>);
  plain("And", "and", combine<And, [](bool a, bool b) { return a && b; }>, nullptr);
  plain("Or", "or", combine<Or, [](bool a, bool b) { return a || b; }>, nullptr);
  plain("Xor", "xor", combine<Xor, [](bool a, bool b) { return a != b; }>, nullptr);
  plain("Div", "div_integers", quotient, ask_quotient);
  plain("Mod", "mod_integers", rest_of_integers, ask_rest_of_integers);
}

}  // namespace lathe
