// Functions of one float32 element, a vector at a time.
#include "ops/unary/unary.h"

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "tensor/element.h"

namespace lathe {
namespace {

template <class Op, cpu::UnaryOp function, Isa isa>
void run(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::apply_unary(isa, function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), 0, 0, c);
}

template <class Op, cpu::UnaryOp function>
std::optional<Pointwise> describe(const Op&, const KernelRequest& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  return Pointwise::unary(function);
}

/// Negatives and magnitudes of integers, which wrap around.
template <class Op>
Verdict ask_integers(const Op&, const KernelRequest& r) {
  const DataType type = r.inputs[0].type;
  return type == DataType::int32 || type == DataType::int64
             ? Verdict::yes()
             : Verdict::no("not for " + std::string(name_of(type)));
}
template <class Op, bool negates_all>
void run_integers(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  for_type(x.type(), Types<int32_t, int64_t>{}, [&]<class T>() -> void {
    using U = std::make_unsigned_t<T>;
    const T* from = x.as<T>().data();
    T* to = c.out(0).as<T>().data();
    c.parallel(x.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
      c.poll();
      for (int64_t i = begin; i < end; ++i)
        to[i] = negates_all || from[i] < 0 ? static_cast<T>(0 - static_cast<U>(from[i])) : from[i];
    });
  });
}

void negate_truths(const Not&, KernelContext& c) {
  const Tensor& x = c.in(0);
  const bool* from = x.as<bool>().data();
  bool* to = c.out(0).as<bool>().data();
  c.parallel(x.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    c.poll();
    for (int64_t i = begin; i < end; ++i) to[i] = !from[i];
  });
}

void negate_bits(const BitwiseNot&, KernelContext& c) {
  const Tensor& x = c.in(0);
  for_size(x.type(), [&]<class T> {
    if constexpr (std::is_integral_v<T>) {
      const T* const from = static_cast<const T*>(x.data());
      T* const to = static_cast<T*>(c.out(0).data());
      c.parallel(x.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
        c.poll();
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(~from[i]);
      });
    }
  });
}

// Truths.

struct Test {
  cpu::UnaryOp function;
  float a = 0, b = 0;
};
Test test_of(const IsNaN&) { return {cpu::UnaryOp::is_nan}; }
Test test_of(const IsInf& op) {
  return {cpu::UnaryOp::is_infinite, op.detect_negative ? 1.0f : 0.0f, op.detect_positive ? 1.0f : 0.0f};
}
template <class Op>
Verdict ask_test(const Op&, const KernelRequest& r) {
  return r.inputs[0].type == DataType::float32 ? Verdict::yes() : Verdict::no("only float32");
}
template <class Op, Isa isa>
void run_test(const Op& op, KernelContext& c) {
  const Test t = test_of(op);
  cpu::apply_test(isa, t.function, cpu::floats(c.in(0)), c.out(0).as<bool>().data(), c.in(0).size(), t.a, t.b,
                  c);
}
template <class Op>
std::optional<Pointwise> describe_test(const Op& op, const KernelRequest& r) {
  const Test t = test_of(op);
  if (r.inputs[0].type != DataType::float32) return std::nullopt;
  return Pointwise::unary(t.function, t.a, t.b);
}

/// 1 - x, of 0 and 1.
std::optional<Pointwise> describe_not(const Not&, const KernelRequest&) {
  return Pointwise::unary(cpu::UnaryOp::linear, -1, 1);
}

}  // namespace

void cpu_unary(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, cpu::UnaryOp function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, function, isa>, .ask = cpu::ask_float32<Op>});
      k.pointwise<Op>(op, describe<Op, function>);
    };
    using F = cpu::UnaryOp;
    add.template operator()<Abs, F::absolute>("Abs", "abs");
    add.template operator()<Neg, F::negative>("Neg", "neg");
    add.template operator()<Reciprocal, F::reciprocal>("Reciprocal", "reciprocal");
    add.template operator()<Sqrt, F::square_root>("Sqrt", "sqrt");
    add.template operator()<Exp, F::exponential>("Exp", "exp");
    add.template operator()<Log, F::logarithm>("Log", "log");
    add.template operator()<Erf, F::error_function>("Erf", "erf");
    add.template operator()<Floor, F::floor>("Floor", "floor");
    add.template operator()<Ceil, F::ceiling>("Ceil", "ceil");
    add.template operator()<Round, F::nearest_even>("Round", "round");
    add.template operator()<Tanh, F::tangent_h>("Tanh", "tanh");
    add.template operator()<Sign, F::sign>("Sign", "sign");
    add.template operator()<Sin, F::sine>("Sin", "sin");
    add.template operator()<Cos, F::cosine>("Cos", "cos");
    const auto test = [&]<class Op>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
                {.run = run_test<Op, isa>, .ask = ask_test<Op>});
      k.pointwise<Op>(op, describe_test<Op>);
    };
    test.template operator()<IsNaN>("IsNaN", "is_nan");
    test.template operator()<IsInf>("IsInf", "is_inf");
  });
  k.pointwise<Not>("Not", describe_not);
  k.add<Neg>({.op = "Neg", .name = cpu::kernel_name("neg_integers", Isa::generic)},
             {.run = run_integers<Neg, true>, .ask = ask_integers<Neg>});
  k.add<Abs>({.op = "Abs", .name = cpu::kernel_name("abs_integers", Isa::generic)},
             {.run = run_integers<Abs, false>, .ask = ask_integers<Abs>});
  k.add<BitwiseNot>(
      {.op = "BitwiseNot", .name = cpu::kernel_name("bitwise_not", Isa::generic), .overwrites = true},
      {.run = negate_bits});
  k.add<Not>({.op = "Not", .name = cpu::kernel_name("not", Isa::generic)}, {.run = negate_truths});
}

}  // namespace lathe
