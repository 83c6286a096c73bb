// LpPool and GlobalLpPool of float32, summed in double, and MaxUnpool of elements of whole bytes.
#include <algorithm>
#include <cmath>

#include "cpu/support.h"
#include "ops/movement.h"
#include "ops/pool/pool.h"
#include "ops/pool/unpool_offsets.h"
#include "ops/sum_of_run.h"

namespace lathe {
namespace {

constexpr int64_t powers_piece = 16384;  // elements worth another thread

/// Calls f(power, root): the function of each element that is summed, and the function of the sum.
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

Support supports_powers(const LpPool& op, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  return op.kernel_shape.size() > 3 ? Support::no("more than three spatial axes") : Support::yes();
}

/// Windows over a volume; of shorter inputs, one slice or row of it.
struct PowerWindows {
  WindowAxis slices, rows, columns;

  explicit PowerWindows(const WindowAxes& axes) : columns(axes.back()) {
    if (axes.size() > 1) rows = axes[axes.size() - 2];
    if (axes.size() > 2) slices = axes[0];
  }
  int64_t volume() const { return slices.in * rows.in * columns.in; }
  int64_t lines() const { return slices.out * rows.out; }
  /// Elements of a window, at most.
  int64_t work() const {
    int64_t n = 1;
    for (const WindowAxis* a : {&slices, &rows, &columns}) n *= std::min(a->kernel, a->in);
    return n;
  }
  /// One row of outputs, of one volume.
  template <class P, class R>
  void line(const float* volume, int64_t at, float* to, P power, R root, Poller& poll) const {
    const int64_t z = at / rows.out, y = at % rows.out;
    for (int64_t i = 0; i < columns.out; ++i) {
      const int64_t from = columns.first_inside(i), until = columns.end_inside(i);
      double sum = 0;
      for (int64_t kz = slices.first_inside(z); kz < slices.end_inside(z); ++kz)
        for (int64_t ky = rows.first_inside(y); ky < rows.end_inside(y); ++ky) {
          const int64_t slice = slices.start(z) + kz * slices.dilation;
          const int64_t row = slice * rows.in + rows.start(y) + ky * rows.dilation;
          const float* const x = volume + row * columns.in + columns.start(i);
          poll.pieces(until - from, 1, [&](int64_t a, int64_t b) {
            for (int64_t j = from + a; j < from + b; ++j)
              sum += power(static_cast<double>(x[j * columns.dilation]));
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
  const int64_t lines = windows.lines(), width = windows.columns.out;
  with_power(op.p, [&](auto power, auto root) {
    c.parallel(y.size() / width,
               std::max<int64_t>(1, powers_piece / std::max<int64_t>(1, width * windows.work())),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 for (int64_t i = begin; i < end; ++i)
                   windows.line(cpu::floats(x) + i / lines * windows.volume(), i % lines,
                                cpu::floats(y) + i * width, power, root, poll);
               });
  });
}

Support supports_unpool(const MaxUnpool&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

/// Writes in the order of the indices, in case two are equal.
void unpool(const MaxUnpool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t* const indices = c.in(1).as<int64_t>().data();
  const UnpoolOffsets offset_of(op, c);
  Tensor& y = c.out(0, x.type(), offset_of.shape);
  for_size(x.type(), [&]<class T> {
    const T* const from = x.as<T>().data();
    T* const to = y.as<T>().data();
    c.parallel(y.size(), powers_piece * 4, [&](int64_t begin, int64_t end) {
      Poller poll(c);
      poll.fill(to + begin, end - begin, T{});
    });
    Poller(c).pieces(x.size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[offset_of(indices[i])] = from[i];
    });
  });
}

}  // namespace

void cpu_pool_powers(KernelCatalog& k);
void cpu_pool_powers(KernelCatalog& k) {
  k.add<LpPool>({.op = "LpPool", .name = cpu::kernel_name("lp_pool", Isa::generic)},
                {.run = pool_powers, .supports = supports_powers});
  k.add<GlobalLpPool>({.op = "GlobalLpPool", .name = cpu::kernel_name("global_lp_pool", Isa::generic)},
                      {.run = pool_all_powers, .supports = cpu::supports_float32<GlobalLpPool>});
  k.add<MaxUnpool>(
      {.op = "MaxUnpool", .name = cpu::kernel_name("max_unpool", Isa::generic), .temporaries = true},
      {.run = unpool, .supports = supports_unpool});
}

}  // namespace lathe
