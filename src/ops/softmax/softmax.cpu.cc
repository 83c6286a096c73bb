// Softmax, LogSoftmax and Hardmax for float32.
#include "ops/softmax/softmax.h"

#include <algorithm>

#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/elementwise/lines.h"

namespace lathe {
namespace {

template <class Op, bool logarithm, Isa isa>
void run(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Lines l(x.shape(), op.axis);
  cpu::softmax(isa, cpu::floats(x), cpu::floats(c.out(0)), l.outer, l.size, l.inner, logarithm, c);
}

template <Isa isa>
void hardmax(const Hardmax& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Lines l(x.shape(), op.axis);
  float* const to = cpu::floats(c.out(0));
  if (x.size() == 0) return;
  cpu::for_each_arg(isa, cpu::floats(x), l.outer, l.size, l.inner, {}, c,
                    [&](int64_t o, int64_t first, int64_t columns, const int64_t* at) {
                      float* const line = to + o * l.size * l.inner + first;
                      if (columns == l.inner)
                        std::fill_n(line, l.size * columns, 0.0f);
                      else
                        for (int64_t j = 0; j < l.size; ++j) std::fill_n(line + j * l.inner, columns, 0.0f);
                      for (int64_t i = 0; i < columns; ++i) line[at[i] * l.inner + i] = 1;
                    });
}

}  // namespace

void cpu_softmax(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Softmax>(
        {.op = "Softmax", .name = cpu::kernel_name("softmax", isa), .isa = isa, .fuses_epilogue = true},
        {.run = run<Softmax, false, isa>, .supports = cpu::supports_float32<Softmax>});
    k.add<LogSoftmax>({.op = "LogSoftmax",
                       .name = cpu::kernel_name("log_softmax", isa),
                       .isa = isa,
                       .fuses_epilogue = true},
                      {.run = run<LogSoftmax, true, isa>, .supports = cpu::supports_float32<LogSoftmax>});
    k.add<Hardmax>({.op = "Hardmax", .name = cpu::kernel_name("hardmax", isa), .isa = isa},
                   {.run = hardmax<isa>, .supports = cpu::supports_float32<Hardmax>});
  });
}

}  // namespace lathe
