#include "ops/softmax/softmax.h"

#include <cmath>

#include "ops/elementwise/lines.h"
#include "ops/poller.h"

namespace lathe {
namespace {

/// Calls f with every element of a line, which may be long.
template <class F>
void each(std::span<double> x, Poller& poll, F&& f) {
  poll.pieces(static_cast<int64_t>(x.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(x[static_cast<size_t>(i)]);
  });
}

double greatest(std::span<double> x, Poller& poll) {
  double m = x[0];
  each(x, poll, [&](double v) {
    if (v > m || std::isnan(v)) m = v;
  });
  return m;
}

void softmax_line(std::span<double> x, Poller& poll) {
  const double m = greatest(x, poll);
  double sum = 0;
  each(x, poll, [&](double& v) { sum += v = std::exp(v - m); });
  each(x, poll, [&](double& v) { v /= sum; });
}

void log_softmax_line(std::span<double> x, Poller& poll) {
  const double m = greatest(x, poll);
  double sum = 0;
  each(x, poll, [&](double v) { sum += std::exp(v - m); });
  const double log_sum = std::log(sum);
  each(x, poll, [&](double& v) { v = v - m - log_sum; });
}

/// 1 at the first of the greatest, else 0. NaN is the greatest, as for ArgMax.
void hardmax_line(std::span<double> x, Poller& poll) {
  size_t at = 0;
  each(x, poll, [&](double& v) {
    if (v > x[at] || (std::isnan(v) && !std::isnan(x[at]))) at = static_cast<size_t>(&v - x.data());
  });
  each(x, poll, [](double& v) { v = 0; });
  x[at] = 1;
}

template <class Op, auto change>
void each_line(const Op& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  const Lines lines(in.shape(), op.axis);
  parallel_lines(c, lines, [&](int64_t begin, int64_t end) {
    std::pmr::vector<double> line(static_cast<size_t>(lines.size), c.scratch());
    Poller poll(c);
    for (int64_t i = begin; i < end; ++i) {
      poll.pieces(lines.size, 1,
                  [&](int64_t from, int64_t to) { load_line(in, lines, i, from, to, line.data()); });
      change(line, poll);
      poll.pieces(lines.size, 1,
                  [&](int64_t from, int64_t to) { store_line(out, lines, i, from, to, line.data()); });
    }
  });
}

}  // namespace

void reference_softmax(KernelCatalog& k) {
  k.reference<Softmax>("Softmax", each_line<Softmax, softmax_line>);
  k.reference<LogSoftmax>("LogSoftmax", each_line<LogSoftmax, log_softmax_line>);
  k.reference<Hardmax>("Hardmax", each_line<Hardmax, hardmax_line>);
}

}  // namespace lathe
