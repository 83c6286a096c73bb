// Functions of one float32 element, a vector at a time.
#include "ops/unary/unary.h"

#include "cpu/ask.h"
#include "cpu/elementwise.h"

namespace lathe {
namespace {

template <class Op, cpu::UnaryOp function, Isa isa>
void run(const Op&, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::apply_unary(isa, function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), 0, 0, c);
}

}  // namespace

void cpu_unary(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op, cpu::UnaryOp function>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
                {.run = run<Op, function, isa>, .ask = cpu::ask_float32<Op>});
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
  });
}

}  // namespace lathe
