// Softmax and LogSoftmax for float32.
#include "ops/softmax/softmax.h"

#include "cpu/ask.h"
#include "cpu/rows.h"

namespace lathe {
namespace {

template <class Op, bool logarithm, Isa isa>
void run(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto rank = static_cast<int64_t>(x.rank()), axis = op.axis < 0 ? op.axis + rank : op.axis;
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t a = 0; a < rank; ++a)
    (a < axis ? outer : a == axis ? n : inner) *= x.dim(static_cast<size_t>(a));
  cpu::softmax(isa, cpu::floats(x), cpu::floats(c.out(0)), outer, n, inner, logarithm, c);
}

}  // namespace

void cpu_softmax(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Softmax>({.op = "Softmax", .name = cpu::kernel_name("softmax", isa), .isa = isa},
                   {.run = run<Softmax, false, isa>, .ask = cpu::ask_float32<Softmax>});
    k.add<LogSoftmax>({.op = "LogSoftmax", .name = cpu::kernel_name("log_softmax", isa), .isa = isa},
                      {.run = run<LogSoftmax, true, isa>, .ask = cpu::ask_float32<LogSoftmax>});
  });
}

}  // namespace lathe
