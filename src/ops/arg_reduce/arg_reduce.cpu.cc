#include "ops/arg_reduce/arg_reduce.h"

#include <algorithm>
#include <array>

#include "cpu/arg.h"
#include "cpu/ask.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Elements between two questions whether to go on.
constexpr int64_t piece = int64_t{1} << 18;

template <class Op>
Verdict ask(const Op&, const KernelRequest& r) {
  const DataType t = r.inputs[0].type;
  if (t != DataType::float32 && t != DataType::int32 && t != DataType::int64)
    return Verdict::no("only float32, int32 and int64, not " + std::string(name_of(t)));
  return Verdict::yes();
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
  for_type(x.type(), Types<float, int32_t, int64_t>{}, [&]<class T> {
    const cpu::ArgLoops<T>& loops = cpu::arg_kernels(isa).of<T>();
    const T* const from = x.as<T>().data();
    if (inner == 1) {
      c.parallel(outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          cpu::ArgBest<T> best;
          for (int64_t j = 0; j < n; j += piece) {
            c.poll();
            loops.row(from + o * n, j, std::min(n, j + piece), wish, best);
          }
          out[o] = best.at;
        }
      });
      return;
    }
    const int64_t blocks = ceil_div(inner, cpu::arg_columns),
                  rows = std::max<int64_t>(1, piece / cpu::arg_columns);
    c.parallel(outer * blocks, std::max<int64_t>(1, 16384 / (n * cpu::arg_columns)),
               [&](int64_t begin, int64_t end) {
                 std::array<cpu::RankKey<T>, cpu::arg_columns> keys;
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t o = task / blocks, first = task % blocks * cpu::arg_columns;
                   const int64_t columns = std::min(cpu::arg_columns, inner - first);
                   int64_t* const at = out + o * inner + first;
                   std::fill_n(keys.begin(), columns, 0);
                   std::fill_n(at, columns, 0);
                   for (int64_t j = 0; j < n; j += rows) {
                     c.poll();
                     loops.columns(from + o * n * inner + first, j, std::min(n, j + rows), inner, columns,
                                   wish, keys.data(), at);
                   }
                 }
               });
  });
}

}  // namespace

void cpu_arg_reduce(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<ArgMax>({.op = "ArgMax", .name = cpu::kernel_name("arg_max", isa), .isa = isa},
                  {.run = arg_reduce<ArgMax, isa>, .ask = ask<ArgMax>});
    k.add<ArgMin>({.op = "ArgMin", .name = cpu::kernel_name("arg_min", isa), .isa = isa},
                  {.run = arg_reduce<ArgMin, isa>, .ask = ask<ArgMin>});
  });
}

}  // namespace lathe
