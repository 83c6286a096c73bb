// Sums, means, products and extremes, over neighboring axes at once and over others in stages.
#include "ops/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/reduce.h"
#include "cpu/support.h"
#include "kernel/temporary.h"
#include "ops/poller.h"
#include "ops/reduce/reduced_axes.h"

namespace lathe {
namespace {

using F = ReduceFunction;

/// True for products and logarithms of floats, which are accumulated like other types.
template <F function>
constexpr bool accumulates_floats = function == F::prod || function == F::log_sum;
template <F function>
constexpr auto accumulated_types() {
  if constexpr (function == F::max || function == F::min)
    return Types<double, int32_t, int64_t, uint8_t, int8_t>{};
  else if constexpr (function == F::sum || function == F::mean || function == F::prod)
    return Types<double, int32_t, int64_t>{};
  else if constexpr (function == F::log_sum)
    return Types<double>{};
  else
    return Types<>{};
}

/// Supports axes that are known to be neighbors, with nothing in between.
Support neighbors(const Tensor* given, bool none_without, int64_t rank) {
  if (!given || given->size() == 0)
    return none_without || rank == 0 ? Support::no("no axes") : Support::yes();
  int64_t first = rank, last = 0;
  for (int64_t a : given->as<int64_t>()) {
    if (a < -rank || a >= rank) return Support::no("an axis that is not there");  // in plans from files
    if (a < 0) a += rank;
    first = std::min(first, a);
    last = std::max(last, a + 1);
  }
  return last - first == given->size() ? Support::yes() : Support::no("the axes are not neighbors");
}

template <F function>
Support supports_type(const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  return type == DataType::float32 ? Support::yes() : cpu::supports_type(type, accumulated_types<function>());
}

template <F function>
Support supports(const Reduce<function>& op, const KernelQuery& r) {
  if (Support type = supports_type<function>(r); !type.accepted) return type;
  if (!r.inputs[0].shape) return Support::no("the rank is not known");
  const Tensor* axes = cpu::constant_input(r, 1);
  if (cpu::has_input(r, 1) && !axes) return Support::no("the axes are not constant");
  return neighbors(axes, op.noop_with_empty_axes, static_cast<int64_t>(r.inputs[0].shape->size()));
}

/// Supports axes that need memory between the stages, or may need it.
template <F function>
Support supports_apart(const Reduce<function>& op, const KernelQuery& r) {
  if (Support type = supports_type<function>(r); !type.accepted) return type;
  return supports(op, r).accepted ? Support::no("the axes are neighbors") : Support::yes();
}

/// A tensor seen as [outer, n, inner]; the axis of n is reduced.
struct Stage {
  int64_t outer = 1, n = 1, inner = 1;
  int64_t left() const { return outer * inner; }
};

/// The axes as runs of neighbors, kept and reduced by turns: the first and the last are kept.
class Runs {
 public:
  Runs(const Shape& shape, const AxisFlags& reduced) {
    for (size_t a = 0; a < shape.size(); ++a) {
      if (shape[a] == 1) continue;
      if (reduced[a]) terms_ *= shape[a];
      if (reduced[a] == (sizes_.size() % 2 == 0))
        sizes_.back() *= shape[a];
      else
        sizes_.push_back(shape[a]);
    }
    if (sizes_.size() == 1) sizes_ = {1, 1, sizes_[0]};
    if (sizes_.size() % 2 == 0) sizes_.push_back(1);
  }
  /// The number of elements that are reduced to one.
  int64_t terms() const { return terms_; }
  bool none() const { return sizes_.size() == 1; }
  /// Takes the longest axis first, since that leaves the fewest elements to the others. The order depends
  /// only on the reduced axes.
  Stage take() {
    size_t at = 1;
    for (size_t i = 3; i < sizes_.size(); i += 2)
      if (sizes_[i] >= sizes_[at]) at = i;
    Stage s{.n = sizes_[at]};
    for (size_t i = 0; i < at; ++i) s.outer *= sizes_[i];
    for (size_t i = at + 1; i < sizes_.size(); ++i) s.inner *= sizes_[i];
    sizes_[at - 1] *= sizes_[at + 1];
    std::copy(sizes_.begin() + at + 2, sizes_.end(), sizes_.begin() + at);
    sizes_.resize(sizes_.size() - 2);
    return s;
  }

 private:
  InlineVector<int64_t, 16> sizes_{1};
  int64_t terms_ = 1;
};

/// Calls step(x, y, stage, first, last) for one stage after the other, the last of which writes `y`.
template <class Step>
void in_stages(const float* x, Runs runs, float* y, KernelContext& c, Step& step, bool first = true) {
  const Stage stage = runs.take();
  if (runs.none()) return step(x, y, stage, first, true);
  Tensor part = temporary(c, DataType::float32, {stage.left()});
  step(x, cpu::floats(part), stage, first, false);
  in_stages(cpu::floats(part), runs, y, c, step, false);
}

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
/// The function that joins the results of `op`.
constexpr cpu::ReduceOp joining(cpu::ReduceOp op) {
  return op == cpu::ReduceOp::maximum || op == cpu::ReduceOp::minimum ? op : cpu::ReduceOp::sum;
}

template <F function, Isa isa>
void reduce_floats(const float* x, const Runs& runs, Tensor& y, KernelContext& c) {
  constexpr bool has_root = function == F::l2;
  auto step = [&](const float* from, float* to, const Stage& s, bool first, bool last) {
    Epilogue* const e = last && !has_root ? c.epilogue() : nullptr;
    if constexpr (function == F::log_sum_exp) {
      cpu::log_sum_exp(isa, from, to, s.outer, s.n, s.inner, e, c);
    } else {
      constexpr cpu::ReduceOp op = row_function(function);
      const float factor = function == F::mean && last ? 1.0f / static_cast<float>(runs.terms()) : 1.0f;
      cpu::reduce(isa, first ? op : joining(op), from, to, s.outer, s.n, s.inner, factor, e, c);
    }
  };
  float* const to = cpu::floats(y);
  in_stages(x, runs, to, c, step);
  if (!has_root) return;
  cpu::apply_unary(isa, cpu::UnaryOp::square_root, to, to, y.size(), 0, 0, c);
  if (Epilogue* const e = c.epilogue()) cpu::run_pointwise(*e, y.size(), c);
}

constexpr cpu::AccumulateOp accumulate_function(F f) {
  return f == F::prod  ? cpu::AccumulateOp::product
         : f == F::max ? cpu::AccumulateOp::maximum
         : f == F::min ? cpu::AccumulateOp::minimum
                       : cpu::AccumulateOp::sum;
}

/// Accumulates T in W, which is wider except for bytes.
template <F function, class T, Isa isa>
struct Accumulated {
  using W =
      std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<sizeof(T) == 1, T, int64_t>>;
  using Limits = std::numeric_limits<T>;
  static constexpr auto op = static_cast<size_t>(accumulate_function(function));
  // The result of no elements.
  static constexpr W start =
      function == F::prod  ? W{1}
      : function == F::max ? W{Limits::has_infinity ? -Limits::infinity() : Limits::lowest()}
      : function == F::min ? W{Limits::has_infinity ? Limits::infinity() : Limits::max()}
                           : W{0};
  static T result(W total, int64_t terms) {
    if constexpr (function == F::mean) {
      if constexpr (std::is_integral_v<T>) return terms == 0 ? T{0} : static_cast<T>(total / terms);
      return static_cast<T>(total / static_cast<W>(terms));
    }
    return static_cast<T>(function == F::log_sum ? static_cast<W>(std::log(total)) : total);
  }

  /// Calls store(at, totals, n) for runs of neighboring results.
  template <class X, class Store>
  static void stage(const X* x, const Stage& s, KernelContext& c, Store store) {
    constexpr int64_t together = 128;  // columns
    const auto& loops = cpu::accumulate_kernels(isa).of<X>();
    const int64_t blocks = (s.inner + together - 1) / together;
    const int64_t work = std::max<int64_t>(1, s.n * std::min(s.inner, together));
    c.parallel(s.outer * blocks, std::max<int64_t>(1, cpu::elements_a_piece / work),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 std::array<W, together> totals;
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t o = i / blocks, column = i % blocks * together;
                   const int64_t width = std::min(together, s.inner - column);
                   const X* const from = x + o * s.n * s.inner + column;
                   std::fill_n(totals.begin(), width, start);
                   poll.did(width);
                   poll.pieces(s.n, width, [&](int64_t first, int64_t last) {
                     if (s.inner == 1)
                       totals[0] = loops.row[op](from + first, last - first, totals[0]);
                     else
                       loops.columns[op](from + first * s.inner, last - first, s.inner, width, totals.data());
                   });
                   store(o * s.inner + column, totals.data(), width);
                 }
               });
  }
  template <class X>
  static void run(const X* x, Runs runs, T* y, KernelContext& c) {
    const int64_t terms = runs.terms();
    const Stage s = runs.take();
    if (runs.none())
      return stage(x, s, c, [&](int64_t at, const W* totals, int64_t n) {
        for (int64_t k = 0; k < n; ++k) y[at + k] = result(totals[k], terms);
      });
    Tensor part = temporary(c, type_of<W>, {s.left()});
    W* const to = part.as<W>().data();
    stage(x, s, c, [&](int64_t at, const W* totals, int64_t n) { std::copy_n(totals, n, to + at); });
    run(static_cast<const W*>(to), runs, y, c);
  }
};

template <F function, Isa isa>
void run(const Reduce<function>& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const AxisFlags reduced = reduced_axes(c, x.rank(), op.noop_with_empty_axes);
  const Runs runs(x.shape(), reduced);
  Tensor& y = reduced_output(c, reduced, op.keepdims);
  const auto accumulate = [&]<class T>(Types<T>) {
    Accumulated<function, T, isa>::run(x.as<T>().data(), runs, y.as<T>().data(), c);
  };
  constexpr auto others = accumulated_types<function>();
  if constexpr (!std::is_same_v<decltype(others), const Types<>>)
    if (x.type() != DataType::float32)
      return for_type(x.type(), others, [&]<class T> { accumulate(Types<T>{}); });
  if constexpr (accumulates_floats<function>)
    accumulate(Types<float>{});
  else
    reduce_floats<function, isa>(cpu::floats(x), runs, y, c);
}

}  // namespace

void cpu_reduce(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<F function>(const char* op, const std::string& name) {
      k.add<Reduce<function>>({.op = op,
                               .name = cpu::kernel_name(name, isa),
                               .isa = isa,
                               .fuses_epilogue = !accumulates_floats<function>},
                              {.run = run<function, isa>, .supports = supports<function>});
      k.add<Reduce<function>>({.op = op,
                               .name = cpu::kernel_name(name + "_apart", isa),
                               .isa = isa,
                               .fuses_epilogue = !accumulates_floats<function>,
                               .temporaries = true},
                              {.run = run<function, isa>, .supports = supports_apart<function>});
    };
    add.template operator()<F::sum>("ReduceSum", "reduce_sum");
    add.template operator()<F::mean>("ReduceMean", "reduce_mean");
    add.template operator()<F::max>("ReduceMax", "reduce_max");
    add.template operator()<F::min>("ReduceMin", "reduce_min");
    add.template operator()<F::prod>("ReduceProd", "reduce_prod");
    add.template operator()<F::l1>("ReduceL1", "reduce_l1");
    add.template operator()<F::l2>("ReduceL2", "reduce_l2");
    add.template operator()<F::log_sum>("ReduceLogSum", "reduce_log_sum");
    add.template operator()<F::log_sum_exp>("ReduceLogSumExp", "reduce_log_sum_exp");
    add.template operator()<F::sum_square>("ReduceSumSquare", "reduce_sum_square");
  });
}

}  // namespace lathe
