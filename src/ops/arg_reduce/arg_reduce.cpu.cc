#include "ops/arg_reduce/arg_reduce.h"

#include <algorithm>

#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/movement.h"

namespace lathe {
namespace {

constexpr Types<float, int32_t, int64_t, uint8_t, int8_t> compared_types;

template <class Op>
Support supports(const Op&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, compared_types);
}

template <class Op, Isa isa>
void arg_reduce(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t* const out = c.out(0).as<int64_t>().data();
  if (x.rank() == 0) {
    out[0] = 0;
    return;
  }
  const size_t axis = axis_of(op.axis, x.rank());
  const int64_t n = x.dim(axis);
  const int64_t inner = count_of(Shape(x.shape().begin() + axis + 1, x.shape().end()));
  const int64_t outer = count_of(Shape(x.shape().begin(), x.shape().begin() + axis));
  if (outer * inner == 0) return;
  if (n == 0) c.fail(Code::run_bad_shape, "an axis with elements", describe(x.shape()));
  const cpu::ArgWish wish{.least = std::is_same_v<Op, ArgMin>, .last = op.select_last_index != 0};
  for_type(x.type(), compared_types, [&]<class T> {
    cpu::for_each_arg(isa, x.as<T>().data(), outer, n, inner, wish, c,
                      [&](int64_t o, int64_t first, int64_t columns, const int64_t* at) {
                        std::copy_n(at, columns, out + o * inner + first);
                      });
  });
}

}  // namespace

void cpu_arg_reduce(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<ArgMax>({.op = "ArgMax", .name = cpu::kernel_name("arg_max", isa), .isa = isa},
                  {.run = arg_reduce<ArgMax, isa>, .supports = supports<ArgMax>});
    k.add<ArgMin>({.op = "ArgMin", .name = cpu::kernel_name("arg_min", isa), .isa = isa},
                  {.run = arg_reduce<ArgMin, isa>, .supports = supports<ArgMin>});
  });
}

}  // namespace lathe
