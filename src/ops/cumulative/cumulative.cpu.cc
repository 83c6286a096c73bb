// CumSum and CumProd: some rows or columns side by side. Sums of floats run in double, as the reference
// has them; those of integers wrap around.
#include "ops/cumulative/cumulative.h"

#include <algorithm>
#include <array>
#include <functional>

#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/cumulative/cumulative_axis.h"

namespace lathe {
namespace {

/// Columns that run side by side.
constexpr int64_t columns_at_once = 256;
constexpr int rows_at_once = 4;
/// Elements worth another thread.
constexpr int64_t running_piece = 16384;

/// Integers of one size wrap around alike, whatever their sign.
constexpr Types<float, double, int32_t, int64_t, uint32_t, uint64_t> running_types;

Support supports_running(const Cumulative&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, running_types);
}

/// Lines side by side: element k of each is `k * stride` from the first.
template <class T, class Combine>
struct RunningColumns {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double,
                                 std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>>;
  int64_t length, stride;
  bool exclusive, reverse;
  Sum neutral;

  /// Rows side by side: of one by itself every sum waits for the one before.
  template <int together>
  void rows(const T* from, T* to, Poller& poll) const {
    std::array<Sum, together> running;
    running.fill(neutral);
    const int64_t first = reverse ? length - 1 : 0, step = reverse ? -1 : 1;
    poll.pieces(length, together, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = first + k * step;
        for (int r = 0; r < together; ++r) {
          const Sum next = static_cast<Sum>(Combine()(running[r], static_cast<Sum>(from[r * length + at])));
          to[r * length + at] = static_cast<T>(exclusive ? running[r] : next);
          running[r] = next;
        }
      }
    });
  }
  void columns(const T* from, T* to, int64_t width, Poller& poll) const {
    std::array<Sum, columns_at_once> running;
    running.fill(neutral);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t at = (reverse ? length - 1 - k : k) * stride;
      poll.did(width);
      exclusive ? advance<true>(from + at, to + at, running.data(), width)
                : advance<false>(from + at, to + at, running.data(), width);
    }
  }

 private:
  /// `to` may be `from` itself: each element is read before it is written.
  template <bool before>
  static void advance(const T* from, T* to, Sum* running, int64_t width) {
    for (int64_t i = 0; i < width; ++i) {
      const Sum old = running[i], next = static_cast<Sum>(Combine()(old, static_cast<Sum>(from[i])));
      to[i] = static_cast<T>(before ? old : next);
      running[i] = next;
    }
  }
};

template <class Combine>
void run_along(const Cumulative& op, KernelContext& c, int neutral) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const size_t axis = cumulative_axis(c);
  if (x.size() == 0) return;
  const int64_t length = x.dim(axis), inner = count_between(x.shape(), axis + 1, x.rank());
  const int64_t outer = x.size() / (length * inner), blocks = ceil_div(inner, columns_at_once);
  for_type(x.type(), running_types, [&]<class T> {
    using Columns = RunningColumns<T, Combine>;
    const Columns run{length, inner, op.exclusive, op.reverse, static_cast<typename Columns::Sum>(neutral)};
    const T* const from = x.as<T>().data();
    T* const to = y.as<T>().data();
    const int64_t work = length * std::min(inner, columns_at_once);
    c.parallel(outer * blocks, std::max<int64_t>(1, running_piece / work), [&](int64_t begin, int64_t end) {
      Poller poll(c);
      c.poll();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % blocks * columns_at_once, at = i / blocks * length * inner + column;
        if (inner == 1 && end - i >= rows_at_once)
          run.template rows<rows_at_once>(from + at, to + at, poll), i += rows_at_once - 1;
        else if (inner == 1)
          run.template rows<1>(from + at, to + at, poll);
        else
          run.columns(from + at, to + at, std::min(columns_at_once, inner - column), poll);
      }
    });
  });
}

}  // namespace

void cpu_cumulative(KernelCatalog& k) {
  const auto add = [&](const char* op, const char* name, void (*run)(const Cumulative&, KernelContext&)) {
    k.add<Cumulative>({.op = op, .name = cpu::kernel_name(name, Isa::generic), .overwrites = true},
                      {.run = run, .supports = supports_running});
  };
  add("CumSum", "cum_sum", [](const Cumulative& op, KernelContext& c) { run_along<std::plus<>>(op, c, 0); });
  add("CumProd", "cum_prod",
      [](const Cumulative& op, KernelContext& c) { run_along<std::multiplies<>>(op, c, 1); });
}

}  // namespace lathe
