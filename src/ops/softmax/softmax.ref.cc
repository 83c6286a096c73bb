#include "ops/softmax/softmax.h"

#include <cmath>

#include "ops/elementwise/lines.h"

namespace lathe {
namespace {

double greatest(std::span<const double> x) {
  double m = x[0];
  for (double v : x)
    if (v > m || std::isnan(v)) m = v;
  return m;
}

void softmax_line(std::span<double> x) {
  const double m = greatest(x);
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - m);
  for (double& v : x) v /= sum;
}

void log_softmax_line(std::span<double> x) {
  const double m = greatest(x);
  double sum = 0;
  for (double v : x) sum += std::exp(v - m);
  const double log_sum = std::log(sum);
  for (double& v : x) v = v - m - log_sum;
}

/// 1 at the first of the greatest, else 0.
void hardmax_line(std::span<double> x) {
  const auto at = std::max_element(x.begin(), x.end()) - x.begin();
  std::fill(x.begin(), x.end(), 0.0);
  x[static_cast<size_t>(at)] = 1;
}

template <class Op, auto change>
void each_line(const Op& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  const Lines lines(in.shape(), op.axis);
  parallel_lines(c, lines, [&](int64_t begin, int64_t end) {
    std::pmr::vector<double> line(static_cast<size_t>(lines.size), c.scratch());
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      load_line(in, lines, i, line.data());
      change(line);
      store_line(out, lines, i, line.data());
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
