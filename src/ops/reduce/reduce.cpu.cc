// Sums, means, products and extremes of float32 over neighbouring axes.
#include "ops/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/rows.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using F = ReduceFunction;

constexpr cpu::ReduceOp row_function(F f) {
  switch (f) {
    case F::max:
      return cpu::ReduceOp::maximum;
    case F::min:
      return cpu::ReduceOp::minimum;
    case F::l1:
      return cpu::ReduceOp::sum_of_absolutes;
    case F::l2:
    case F::sum_square:
      return cpu::ReduceOp::sum_of_squares;
    default:
      return cpu::ReduceOp::sum;
  }
}

/// The axes reduced, [first, last), or nothing where they are not neighbours (or, in plans from files, none
/// at all).
struct AxisRange {
  int64_t first, last;
};
std::optional<AxisRange> axes_of(const Tensor* given, bool none_without, int64_t rank) {
  if (!given || given->size() == 0) return none_without ? AxisRange{0, 0} : AxisRange{0, rank};
  AxisRange r{rank, 0};
  for (int64_t a : given->as<int64_t>()) {
    if (a < -rank || a >= rank) return std::nullopt;
    if (a < 0) a += rank;
    r.first = std::min(r.first, a);
    r.last = std::max(r.last, a + 1);
  }
  if (r.last - r.first != given->size()) return std::nullopt;
  return r;
}

template <F function>
Verdict ask(const Reduce<function>& op, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r, 1)) return *refusal;
  if (!r.inputs[0].shape) return Verdict::no("the rank is not known");
  const Tensor* axes = cpu::constant_input(r, 1);
  if (cpu::has_input(r, 1) && !axes) return Verdict::no("the axes are not constant");
  const auto range = axes_of(axes, op.noop_with_empty_axes, static_cast<int64_t>(r.inputs[0].shape->size()));
  if (!range) return Verdict::no("the axes are not neighbours");
  if (range->first == range->last) return Verdict::no("no axes");
  return Verdict::yes();
}

/// A tensor seen as [outer, n, inner]; the axis of n goes.
struct ReducedAxis {
  template <class Op>
  ReducedAxis(const Op& op, KernelContext& c) {
    const Tensor& x = c.in(0);
    const auto rank = static_cast<int64_t>(x.rank());
    const AxisRange range =
        *axes_of(cpu::has_input(c, 1) ? &c.in(1) : nullptr, op.noop_with_empty_axes, rank);
    for (int64_t a = 0; a < rank; ++a)
      (a < range.first ? outer : a < range.last ? n : inner) *= x.dim(static_cast<size_t>(a));
  }
  int64_t outer = 1, n = 1, inner = 1;
};

template <F function, Isa isa>
void run(const Reduce<function>& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto [outer, n, inner] = ReducedAxis(op, c);
  Tensor& y = c.out(0);
  float* const to = cpu::floats(y);
  const float factor = function == F::mean ? 1.0f / static_cast<float>(n) : 1.0f;
  cpu::reduce(isa, row_function(function), cpu::floats(x), to, outer, n, inner, factor, c);
  if (function == F::l2) cpu::apply_unary(isa, cpu::UnaryOp::square_root, to, to, y.size(), 0, 0, c);
}

template <Isa isa>
void run_log_sum_exp(const Reduce<F::log_sum_exp>& op, KernelContext& c) {
  const auto [outer, n, inner] = ReducedAxis(op, c);
  cpu::log_sum_exp(isa, cpu::floats(c.in(0)), cpu::floats(c.out(0)), outer, n, inner, c);
}

/// Sums and products in double: parts of them may be far greater or smaller than what they come to.
template <F function>
struct InDouble {
  static constexpr double neutral = function == F::prod ? 1 : 0;
  static double join(double a, double b) { return function == F::prod ? a * b : a + b; }
  static float result(double total) {
    return static_cast<float>(function == F::log_sum ? std::log(total) : total);
  }

  static float row(const float* x, int64_t n, Poller& poll) {
    constexpr int64_t lanes = 8;
    std::array<double, lanes> part;
    part.fill(neutral);
    poll.pieces(n / lanes, lanes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t k = 0; k < lanes; ++k)
          part[static_cast<size_t>(k)] =
              join(part[static_cast<size_t>(k)], static_cast<double>(x[i * lanes + k]));
    });
    for (int64_t i = n / lanes * lanes; i < n; ++i) part[0] = join(part[0], static_cast<double>(x[i]));
    double total = neutral;
    for (double p : part) total = join(total, p);
    return result(total);
  }
  static constexpr int64_t columns_together = 128;
  static void columns(const float* x, float* y, int64_t n, int64_t stride, int64_t width, Poller& poll) {
    std::array<double, columns_together> total;
    total.fill(neutral);
    for (int64_t i = 0; i < n; ++i, x += stride) {
      poll.did(width);
      for (int64_t k = 0; k < width; ++k)
        total[static_cast<size_t>(k)] = join(total[static_cast<size_t>(k)], static_cast<double>(x[k]));
    }
    for (int64_t k = 0; k < width; ++k) y[k] = result(total[static_cast<size_t>(k)]);
  }
};

template <F function>
void run_in_double(const Reduce<function>& op, KernelContext& c) {
  using Fold = InDouble<function>;
  const auto axis = ReducedAxis(op, c);
  const int64_t n = axis.n, inner = axis.inner;
  const int64_t blocks = (inner + Fold::columns_together - 1) / Fold::columns_together;
  const float* const x = cpu::floats(c.in(0));
  float* const y = cpu::floats(c.out(0));
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, Fold::columns_together));
  c.parallel(axis.outer * blocks, std::max<int64_t>(1, cpu::elements_a_piece / work),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               c.poll();
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t o = i / blocks, column = i % blocks * Fold::columns_together;
                 poll.did(1);
                 if (inner == 1)
                   y[o] = Fold::row(x + o * n, n, poll);
                 else
                   Fold::columns(x + o * n * inner + column, y + o * inner + column, n, inner,
                                 std::min(Fold::columns_together, inner - column), poll);
               }
             });
}

}  // namespace

void cpu_reduce(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<F function>(const char* op, const char* name) {
      k.add<Reduce<function>>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa},
                              {.run = run<function, isa>, .ask = ask<function>});
    };
    add.template operator()<F::sum>("ReduceSum", "reduce_sum");
    add.template operator()<F::mean>("ReduceMean", "reduce_mean");
    add.template operator()<F::max>("ReduceMax", "reduce_max");
    add.template operator()<F::min>("ReduceMin", "reduce_min");
    add.template operator()<F::l1>("ReduceL1", "reduce_l1");
    add.template operator()<F::l2>("ReduceL2", "reduce_l2");
    add.template operator()<F::sum_square>("ReduceSumSquare", "reduce_sum_square");
    k.add<Reduce<F::log_sum_exp>>(
        {.op = "ReduceLogSumExp", .name = cpu::kernel_name("reduce_log_sum_exp", isa), .isa = isa},
        {.run = run_log_sum_exp<isa>, .ask = ask<F::log_sum_exp>});
  });
  k.add<Reduce<F::prod>>({.op = "ReduceProd", .name = cpu::kernel_name("reduce_prod", Isa::generic)},
                         {.run = run_in_double<F::prod>, .ask = ask<F::prod>});
  k.add<Reduce<F::log_sum>>({.op = "ReduceLogSum", .name = cpu::kernel_name("reduce_log_sum", Isa::generic)},
                            {.run = run_in_double<F::log_sum>, .ask = ask<F::log_sum>});
}

}  // namespace lathe
