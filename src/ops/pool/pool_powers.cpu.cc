// LpPool and GlobalLpPool of float32, summed in double, and MaxUnpool of elements of whole bytes.
#include <algorithm>
#include <cmath>

#include "cpu/ask.h"
#include "ops/movement.h"
#include "ops/pool/pool.h"
#include "ops/pool/unpool_places.h"
#include "ops/sum_of_run.h"

namespace lathe {
namespace {

constexpr int64_t powers_piece = 16384;  // elements worth another thread

/// Calls f(power, root): what is summed of each element, and what becomes of the sum.
template <class F>
void with_power(int64_t p, F&& f) {
  if (p == 1) return f([](double x) { return std::abs(x); }, [](double sum) { return sum; });
  if (p == 2) return f([](double x) { return x * x; }, [](double sum) { return std::sqrt(sum); });
  const auto e = static_cast<double>(p);
  f([e](double x) { return std::pow(std::abs(x), e); }, [e](double sum) { return std::pow(sum, 1 / e); });
}

void pool_all_powers(const GlobalLpPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const int64_t n = count_between(x.shape(), 2, x.rank());
  with_power(op.p, [&](auto power, auto root) {
    c.parallel(y.size(), std::max<int64_t>(1, powers_piece / std::max<int64_t>(1, n)),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 for (int64_t i = begin; i < end; ++i)
                   cpu::floats(y)[i] =
                       static_cast<float>(root(sum_of_run(cpu::floats(x) + i * n, n, poll, power)));
               });
  });
}

Verdict ask_powers(const LpPool& op, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  return op.kernel_shape.size() > 2 ? Verdict::no("more than two spatial axes") : Verdict::yes();
}

/// Windows over a plane of one or two axes.
struct PowerWindows {
  WindowAxis rows, columns;

  explicit PowerWindows(const WindowAxes& axes) : columns(axes.back()) {
    if (axes.size() > 1) rows = axes[0];
  }
  /// One row of outputs, of one plane.
  template <class P, class R>
  void row(const float* plane, int64_t o, float* to, P power, R root, Poller& poll) const {
    const int64_t first = rows.first_inside(o), end = rows.end_inside(o);
    for (int64_t i = 0; i < columns.out; ++i) {
      const int64_t from = columns.first_inside(i), until = columns.end_inside(i);
      double sum = 0;
      for (int64_t k = first; k < end; ++k) {
        const float* const line = plane + (rows.start(o) + k * rows.dilation) * columns.in + columns.start(i);
        poll.pieces(until - from, 1, [&](int64_t a, int64_t b) {
          for (int64_t j = from + a; j < from + b; ++j)
            sum += power(static_cast<double>(line[j * columns.dilation]));
        });
      }
      poll.did(1);
      to[i] = static_cast<float>(root(sum));
    }
  }
};

void pool_powers(const LpPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  if (y.size() == 0) return;
  const PowerWindows windows(op.axes(x.shape(), y.shape()));
  const int64_t lines = windows.rows.out, width = windows.columns.out;
  const int64_t area = windows.rows.in * windows.columns.in;
  const int64_t work = width * std::min(windows.rows.kernel, windows.rows.in) *
                       std::min(windows.columns.kernel, windows.columns.in);
  with_power(op.p, [&](auto power, auto root) {
    c.parallel(y.size() / width, std::max<int64_t>(1, powers_piece / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 for (int64_t i = begin; i < end; ++i)
                   windows.row(cpu::floats(x) + i / lines * area, i % lines, cpu::floats(y) + i * width,
                               power, root, poll);
               });
  });
}

Verdict ask_unpool(const MaxUnpool&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

/// In the order of the indices, where two say the same place.
void unpool(const MaxUnpool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t* const indices = c.in(1).as<int64_t>().data();
  const UnpoolPlaces place(op, c);
  Tensor& y = c.out(0, x.type(), place.shape);
  for_size(x.type(), [&]<class T> {
    const T* const from = x.as<T>().data();
    T* const to = y.as<T>().data();
    c.parallel(y.size(), powers_piece * 4, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      poll.fill(to + begin, end - begin, T{});
    });
    Poller(c).pieces(x.size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[place(indices[i])] = from[i];
    });
  });
}

}  // namespace

void cpu_pool_powers(KernelCatalog& k);
void cpu_pool_powers(KernelCatalog& k) {
  k.add<LpPool>({.op = "LpPool", .name = cpu::kernel_name("lp_pool", Isa::generic)},
                {.run = pool_powers, .ask = ask_powers});
  k.add<GlobalLpPool>({.op = "GlobalLpPool", .name = cpu::kernel_name("global_lp_pool", Isa::generic)},
                      {.run = pool_all_powers, .ask = cpu::ask_float32<GlobalLpPool>});
  k.add<MaxUnpool>(
      {.op = "MaxUnpool", .name = cpu::kernel_name("max_unpool", Isa::generic), .temporaries = true},
      {.run = unpool, .ask = ask_unpool});
}

}  // namespace lathe
