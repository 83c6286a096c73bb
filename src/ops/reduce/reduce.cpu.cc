// Sums, means and extremes of float32 over neighbouring axes.
#include "ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/rows.h"

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

template <F function, Isa isa>
void run(const Reduce<function>& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const AxisRange range = *axes_of(cpu::has_input(c, 1) ? &c.in(1) : nullptr, op.noop_with_empty_axes,
                                   static_cast<int64_t>(x.rank()));
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t a = 0; a < static_cast<int64_t>(x.rank()); ++a)
    (a < range.first ? outer : a < range.last ? n : inner) *= x.dim(static_cast<size_t>(a));
  Tensor& y = c.out(0);
  float* const to = cpu::floats(y);
  const float factor = function == F::mean ? 1.0f / static_cast<float>(n) : 1.0f;
  cpu::reduce(isa, row_function(function), cpu::floats(x), to, outer, n, inner, factor, c);
  if (function == F::l2) cpu::apply_unary(isa, cpu::UnaryOp::square_root, to, to, y.size(), 0, 0, c);
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
  });
}

}  // namespace lathe
