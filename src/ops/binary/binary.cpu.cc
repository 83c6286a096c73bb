// Functions of two float32 elements (and sums, differences, products and extremes of integers) with
// broadcasting.
#include "ops/binary/binary.h"

#include "cpu/ask.h"
#include "cpu/elementwise.h"

namespace lathe {
namespace {

using F = cpu::BinaryOp;

template <class Op, F function>
Verdict ask(const Op&, const KernelRequest& r) {
  if (r.inputs.size() != 2) return Verdict::no("only two inputs");
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32 ||
      (function != F::divide && (type == DataType::int32 || type == DataType::int64)))
    return Verdict::yes();
  return Verdict::no("not for " + std::string(name_of(type)));
}

template <class T>
void run_integer(F function, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  cpu::apply_binary_integer(function, x.as<T>().data(), x.shape(), y.as<T>().data(), y.shape(),
                            c.out(0).as<T>().data(), c);
}

template <class Op, F function, Isa isa>
void run(const Op&, KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  if (x.type() == DataType::int32) return run_integer<int32_t>(function, c);
  if (x.type() == DataType::int64) return run_integer<int64_t>(function, c);
  cpu::apply_binary(isa, function, cpu::floats(x), x.shape(), cpu::floats(y), y.shape(),
                    cpu::floats(c.out(0)), c);
}

/// Powers that are a function of one element: the exponent is a constant of one element.
std::optional<cpu::UnaryOp> power(float exponent) {
  if (exponent == 2) return cpu::UnaryOp::square;
  if (exponent == 3) return cpu::UnaryOp::cube;
  if (exponent == 1) return cpu::UnaryOp::linear;
  if (exponent == -1) return cpu::UnaryOp::reciprocal;
  return std::nullopt;
}

Verdict ask_power(const Pow&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  const Tensor* exponent = cpu::constant_input(r, 1);
  if (!exponent || exponent->size() != 1) return Verdict::no("the exponent is not one constant");
  const Shape& e = exponent->shape();
  if (!r.inputs[0].shape || r.inputs[0].shape->size() < e.size())
    return Verdict::no("the exponent adds axes");
  if (!power(*cpu::floats(*exponent))) return Verdict::no("the exponent is none of -1, 1, 2, 3");
  return Verdict::yes();
}

template <Isa isa>
void run_power(const Pow&, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::apply_unary(isa, *power(*cpu::floats(c.in(1))), cpu::floats(x), cpu::floats(c.out(0)), x.size(), 1, 0,
                   c);
}

}  // namespace

void cpu_binary(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, F function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
                {.run = run<Op, function, isa>, .ask = ask<Op, function>});
    };
    add.template operator()<Add, F::add>("Add", "add");
    add.template operator()<Sum, F::add>("Sum", "sum");
    add.template operator()<Sub, F::subtract>("Sub", "sub");
    add.template operator()<Mul, F::multiply>("Mul", "mul");
    add.template operator()<Div, F::divide>("Div", "div");
    add.template operator()<Min, F::minimum>("Min", "min");
    add.template operator()<Max, F::maximum>("Max", "max");
    k.add<Pow>({.op = "Pow", .name = cpu::kernel_name("pow", isa), .isa = isa},
               {.run = run_power<isa>, .ask = ask_power});
  });
}

}  // namespace lathe
