// LpNormalization and MeanVarianceNormalization of float32: what lines have in common is summed in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/norm/norm.h"
#include "ops/sum_of_run.h"

namespace lathe {
namespace {

/// The number of neighboring lines that are summed side by side.
constexpr int64_t lines_together = 128;
constexpr int64_t line_piece = 16384;  // elements worth another thread

/// Neighboring lines, `width` ≤ lines_together of them: elements of one line are `stride` apart.
struct SideBySide {
  int64_t n, stride, width;
  Poller& poll;

  /// totals[k] += f(x, k) over line k.
  template <class F>
  void sum(const float* x, double* totals, F f) const {
    for (int64_t i = 0; i < n; ++i, x += stride) {
      poll.did(width);
      for (int64_t k = 0; k < width; ++k) totals[k] += f(static_cast<double>(x[k]), k);
    }
  }
  /// y = (x - shift[k]) * factor[k].
  void scale(const float* x, float* y, const double* shift, const double* factor) const {
    for (int64_t i = 0; i < n; ++i, x += stride, y += stride) {
      poll.did(width);
      for (int64_t k = 0; k < width; ++k)
        y[k] = static_cast<float>((static_cast<double>(x[k]) - shift[k]) * factor[k]);
    }
  }
};

void scale_run(const float* x, float* y, int64_t n, double shift, double factor, Poller& poll) {
  poll.pieces(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] = static_cast<float>((static_cast<double>(x[i]) - shift) * factor);
  });
}

/// Calls f(i, poll) for `count` pieces of work of `cost` elements each, on all threads.
template <class F>
void for_each_line(int64_t count, int64_t cost, KernelContext& c, F&& f) {
  c.parallel(count, std::max<int64_t>(1, line_piece / std::max<int64_t>(1, cost)),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               c.poll();
               for (int64_t i = begin; i < end; ++i) f(i, poll);
             });
}

/// The factor of a line: 0 for a norm of 0, so that the line becomes 0.
double inverse_norm(double sum, int64_t p) {
  const double norm = p == 2 ? std::sqrt(sum) : sum;
  return norm == 0 ? 0 : 1 / norm;
}

void normalize_lines(const LpNormalization& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.size() == 0) return;
  const size_t axis = static_cast<size_t>(op.axis < 0 ? op.axis + static_cast<int64_t>(x.rank()) : op.axis);
  const int64_t n = x.dim(axis), inner = count_between(x.shape(), axis + 1, x.rank());
  const int64_t outer = x.size() / (n * inner), blocks = ceil_div(inner, lines_together);
  const float* const from = cpu::floats(x);
  float* const to = cpu::floats(c.out(0));
  const auto term = [p = op.p](double v) { return p == 1 ? std::abs(v) : v * v; };
  for_each_line(outer * blocks, n * std::min(inner, lines_together), c, [&](int64_t i, Poller& poll) {
    const int64_t column = i % blocks * lines_together, at = i / blocks * n * inner + column;
    if (inner == 1) {
      const double factor = inverse_norm(sum_of_run(from + at, n, poll, term), op.p);
      return scale_run(from + at, to + at, n, 0, factor, poll);
    }
    const SideBySide lines{n, inner, std::min(lines_together, inner - column), poll};
    std::array<double, lines_together> sums{}, none{};
    lines.sum(from + at, sums.data(), [&](double v, int64_t) { return term(v); });
    for (double& s : sums) s = inverse_norm(s, op.p);
    lines.scale(from + at, to + at, none.data(), sums.data());
  });
}

/// The axes that keep statistics of their own, [first, last), or nothing if they are not neighbors.
std::optional<std::pair<int64_t, int64_t>> kept_axes(const MeanVarianceNormalization& op, int64_t rank) {
  InlineVector<bool, 8> gone(static_cast<size_t>(rank), false);
  for (int64_t a : op.axes) gone[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
  int64_t first = rank, last = 0, count = 0;
  for (int64_t a = 0; a < rank; ++a) {
    if (gone[static_cast<size_t>(a)]) continue;
    first = std::min(first, a);
    last = a + 1;
    ++count;
  }
  if (count == 0) return std::pair<int64_t, int64_t>(0, 0);
  return last - first == count ? std::optional(std::pair(first, last)) : std::nullopt;
}

Support supports_mean_variance(const MeanVarianceNormalization& op, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (!r.inputs[0].shape) return Support::no("the rank is not known");
  const auto rank = static_cast<int64_t>(r.inputs[0].shape->size());
  for (int64_t a : op.axes)
    if (a < -rank || a >= rank) return Support::no("no such axis");
  return kept_axes(op, rank) ? Support::yes() : Support::no("the axes that stay are not neighbors");
}

/// The function body of the specification adds 1e-9 to the deviation.
double inverse_deviation(double squares, double count) { return 1 / (std::sqrt(squares / count) + 1e-9); }

/// X as [outer, kept, inner]: each index of the middle axis has statistics of its own.
struct MeansOfKept {
  int64_t outer, kept, inner;
  const float* from;
  float* to;

  /// Normalizes index k, whose elements are in `outer` runs.
  void runs(int64_t k, Poller& poll) const {
    const auto count = static_cast<double>(outer * inner);
    double sum = 0, squares = 0;
    each_run(k, [&](int64_t at) { sum += sum_of_run(from + at, inner, poll, [](double v) { return v; }); });
    const double mean = sum / count;
    each_run(k, [&](int64_t at) {
      squares += sum_of_run(from + at, inner, poll, [mean](double v) { return (v - mean) * (v - mean); });
    });
    const double factor = inverse_deviation(squares, count);
    each_run(k, [&](int64_t at) { scale_run(from + at, to + at, inner, mean, factor, poll); });
  }
  /// Normalizes some neighbors, from `first` on; inner is 1.
  void columns(int64_t first, Poller& poll) const {
    const SideBySide lines{outer, kept, std::min(lines_together, kept - first), poll};
    const auto count = static_cast<double>(outer);
    std::array<double, lines_together> mean{}, squares{};
    lines.sum(from + first, mean.data(), [](double v, int64_t) { return v; });
    for (double& m : mean) m /= count;
    lines.sum(from + first, squares.data(), [&](double v, int64_t k) {
      const double d = v - mean[static_cast<size_t>(k)];
      return d * d;
    });
    for (double& s : squares) s = inverse_deviation(s, count);
    lines.scale(from + first, to + first, mean.data(), squares.data());
  }

 private:
  template <class F>
  void each_run(int64_t k, F&& f) const {
    for (int64_t o = 0; o < outer; ++o) f((o * kept + k) * inner);
  }
};

void normalize_means(const MeanVarianceNormalization& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.size() == 0) return;
  const auto [first, last] = *kept_axes(op, static_cast<int64_t>(x.rank()));
  const auto begin = static_cast<size_t>(first), end = static_cast<size_t>(last);
  const MeansOfKept means{count_between(x.shape(), 0, begin), count_between(x.shape(), begin, end),
                          count_between(x.shape(), end, x.rank()), cpu::floats(x), cpu::floats(c.out(0))};
  if (means.inner > 1 || means.outer == 1)
    return for_each_line(means.kept, means.outer * means.inner, c,
                         [&](int64_t k, Poller& poll) { means.runs(k, poll); });
  for_each_line(ceil_div(means.kept, lines_together), means.outer * std::min(means.kept, lines_together), c,
                [&](int64_t i, Poller& poll) { means.columns(i * lines_together, poll); });
}

}  // namespace

void cpu_norm_lines(KernelCatalog& k);
void cpu_norm_lines(KernelCatalog& k) {
  k.add<LpNormalization>(
      {.op = "LpNormalization", .name = cpu::kernel_name("lp_normalization", Isa::generic)},
      {.run = normalize_lines, .supports = cpu::supports_float32<LpNormalization>});
  k.add<MeanVarianceNormalization>({.op = "MeanVarianceNormalization",
                                    .name = cpu::kernel_name("mean_variance_normalization", Isa::generic)},
                                   {.run = normalize_means, .supports = supports_mean_variance});
}

}  // namespace lathe
