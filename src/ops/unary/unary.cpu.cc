// Functions of one element: of float32 a vector at a time, like programs; of other numbers and of booleans in
// loops.
#include "ops/unary/unary.h"

#include "cpu/elementwise.h"
#include "cpu/support.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using cpu::SingleOp;

/// SingleOp::count: of no other numbers than float32.
template <class Op, SingleOp other>
Support supports(const Op&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32) return Support::yes();
  return other == SingleOp::count ? Support::no("only float32") : cpu::supports_computes(other, type);
}
template <class Op, cpu::UnaryOp function, SingleOp other, Isa isa>
void run(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.type() != DataType::float32) return cpu::apply_single(isa, other, x, c.out(0), c);
  cpu::apply_unary(isa, function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), 0, 0, c);
}

template <class Op, SingleOp function>
std::optional<Pointwise> describe_other(const Op&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (function == SingleOp::count || !cpu::computes(function, type)) return std::nullopt;
  return Pointwise::single(function, type);
}
template <class Op, cpu::UnaryOp function, SingleOp other>
std::optional<Pointwise> describe(const Op& op, const KernelQuery& r) {
  if (r.inputs[0].type == DataType::float32) return Pointwise::unary(function);
  return describe_other<Op, other>(op, r);
}

template <class Op, SingleOp function>
Support supports_other(const Op&, const KernelQuery& r) {
  return cpu::supports_computes(function, r.inputs[0].type);
}
template <class Op, SingleOp function, Isa isa>
void run_other(const Op&, KernelContext& c) {
  cpu::apply_single(isa, function, c.in(0), c.out(0), c);
}

// Functions whose results are booleans.

struct Test {
  cpu::UnaryOp function;
  float a = 0, b = 0;
};
Test test_of(const IsNaN&) { return {cpu::UnaryOp::is_nan}; }
Test test_of(const IsInf& op) {
  return {cpu::UnaryOp::is_infinite, op.detect_negative ? 1.0f : 0.0f, op.detect_positive ? 1.0f : 0.0f};
}
template <class Op>
Support supports_test(const Op&, const KernelQuery& r) {
  return r.inputs[0].type == DataType::float32 ? Support::yes() : Support::no("only float32");
}
template <class Op, Isa isa>
void run_test(const Op& op, KernelContext& c) {
  const Test t = test_of(op);
  cpu::apply_test(isa, t.function, cpu::floats(c.in(0)), c.out(0).as<bool>().data(), c.in(0).size(), t.a, t.b,
                  c);
}
template <class Op>
std::optional<Pointwise> describe_test(const Op& op, const KernelQuery& r) {
  const Test t = test_of(op);
  if (r.inputs[0].type != DataType::float32) return std::nullopt;
  return Pointwise::unary(t.function, t.a, t.b);
}

/// 1 - x, of 0 and 1.
std::optional<Pointwise> describe_not(const Not&, const KernelQuery&) {
  return Pointwise::unary(cpu::UnaryOp::linear, -1, 1);
}

}  // namespace

void cpu_unary(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, cpu::UnaryOp function, SingleOp other = SingleOp::count>(const char* op,
                                                                                      const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, function, other, isa>, .supports = supports<Op, other>});
      k.pointwise<Op>(op, describe<Op, function, other>);
    };
    using F = cpu::UnaryOp;
    add.template operator()<Abs, F::absolute, SingleOp::absolute>("Abs", "abs");
    add.template operator()<Neg, F::negative, SingleOp::negative>("Neg", "neg");
    add.template operator()<Reciprocal, F::reciprocal, SingleOp::reciprocal>("Reciprocal", "reciprocal");
    add.template operator()<Sqrt, F::square_root, SingleOp::square_root>("Sqrt", "sqrt");
    add.template operator()<Exp, F::exponential, SingleOp::exponential>("Exp", "exp");
    add.template operator()<Log, F::logarithm, SingleOp::logarithm>("Log", "log");
    add.template operator()<Erf, F::error_function>("Erf", "erf");
    add.template operator()<Floor, F::floor, SingleOp::floor>("Floor", "floor");
    add.template operator()<Ceil, F::ceiling, SingleOp::ceiling>("Ceil", "ceil");
    add.template operator()<Round, F::nearest_even, SingleOp::nearest_even>("Round", "round");
    add.template operator()<Tanh, F::tangent_h, SingleOp::tangent_h>("Tanh", "tanh");
    add.template operator()<Sign, F::sign, SingleOp::sign>("Sign", "sign");
    add.template operator()<Sin, F::sine>("Sin", "sin");
    add.template operator()<Cos, F::cosine>("Cos", "cos");
    add.template operator()<Tan, F::tangent>("Tan", "tan");
    add.template operator()<Asin, F::inverse_sine>("Asin", "asin");
    add.template operator()<Acos, F::inverse_cosine>("Acos", "acos");
    add.template operator()<Atan, F::inverse_tangent>("Atan", "atan");
    add.template operator()<Sinh, F::sine_h>("Sinh", "sinh");
    add.template operator()<Cosh, F::cosine_h>("Cosh", "cosh");
    add.template operator()<Asinh, F::inverse_sine_h>("Asinh", "asinh");
    add.template operator()<Acosh, F::inverse_cosine_h>("Acosh", "acosh");
    add.template operator()<Atanh, F::inverse_tangent_h>("Atanh", "atanh");
    const auto other = [&]<class Op, SingleOp function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run_other<Op, function, isa>, .supports = supports_other<Op, function>});
    };
    other.template operator()<BitwiseNot, SingleOp::invert>("BitwiseNot", "bitwise_not");
    other.template operator()<Not, SingleOp::contradict>("Not", "not");
    const auto test = [&]<class Op>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
                {.run = run_test<Op, isa>, .supports = supports_test<Op>});
      k.pointwise<Op>(op, describe_test<Op>);
    };
    test.template operator()<IsNaN>("IsNaN", "is_nan");
    test.template operator()<IsInf>("IsInf", "is_inf");
  });
  k.pointwise<Not>("Not", describe_not);
  k.pointwise<BitwiseNot>("BitwiseNot", describe_other<BitwiseNot, SingleOp::invert>);
}

}  // namespace lathe
