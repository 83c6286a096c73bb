#include "cpu/spectral/fourier.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/spectral/fourier_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(FourierKernels, fourier_kernels)

namespace {

/// Doubles that are computed between polls.
constexpr int64_t polled = 32768;
constexpr int64_t greatest_factor = 31;

/// Appends the factors of n that there are steps for; the rest is returned: 1, or a number that needs a
/// convolution.
int64_t take_factors(int64_t n, std::pmr::vector<int64_t>& to) {
  for (int64_t f : {int64_t{4}, int64_t{2}})
    for (; n % f == 0; n /= f) to.push_back(f);
  for (int64_t f = 3; f <= greatest_factor; f += 2)
    for (; n % f == 0; n /= f) to.push_back(f);
  return n;
}

}  // namespace

/// Multiplies few roots that the library computes, which is accurate to the last places of a double.
void FourierPlan::roots(int64_t n, int64_t count, double* re, double* im, KernelContext& c) {
  using Number = std::complex<double>;
  const auto root = [n](int64_t k) {
    const double angle = -2 * 3.141592653589793238 * static_cast<double>(k) / static_cast<double>(n);
    return Number(std::cos(angle), std::sin(angle));
  };
  const auto few = static_cast<int64_t>(std::sqrt(static_cast<double>(count))) + 1;
  std::pmr::vector<Number> near(static_cast<size_t>(few), c.scratch());
  for (int64_t k = 0; k < few; ++k) near[static_cast<size_t>(k)] = root(k);
  for (int64_t first = 0; first < count; first += few) {
    if (first / few * few % polled < few) c.poll();
    const Number far = root(first);
    for (int64_t k = first; k < std::min(first + few, count); ++k) {
      const Number& w = near[static_cast<size_t>(k - first)];
      re[k] = far.real() * w.real() - far.imag() * w.imag();
      im[k] = far.real() * w.imag() + far.imag() * w.real();
    }
  }
}

FourierPlan::FourierPlan(int64_t n, Isa isa, KernelContext& c)
    : n_(n),
      isa_(isa),
      radices_(c.scratch()),
      root_re_(c.scratch()),
      root_im_(c.scratch()),
      convolved_(c.scratch()),
      chirp_re_(c.scratch()),
      chirp_im_(c.scratch()),
      filter_re_(c.scratch()),
      filter_im_(c.scratch()) {
  if (take_factors(n, radices_) > 1) {
    make_convolution(c);
    return;
  }
  root_re_.resize(static_cast<size_t>(n));
  root_im_.resize(static_cast<size_t>(n));
  roots(n, n, root_re_.data(), root_im_.data(), c);
}

/// Since jk is (j² + k² - (j - k)²) / 2, the transform is a convolution with roots of squares, between
/// products with them.
void FourierPlan::make_convolution(KernelContext& c) {
  const auto n = static_cast<size_t>(n_);
  int64_t length = 1;
  while (length < 2 * n_ - 1) length *= 2;
  const FourierPlan& plan = convolved_.emplace_back(length, isa_, c);
  chirp_re_.resize(n);
  chirp_im_.resize(n);
  {
    Numbers re(2 * n, c.scratch()), im(2 * n, c.scratch());
    roots(2 * n_, 2 * n_, re.data(), im.data(), c);
    size_t square = 0;  // of k, modulo 2n
    for (size_t k = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
      chirp_re_[k] = re[square];
      chirp_im_[k] = im[square];
    }
  }
  const auto m = static_cast<size_t>(length);
  filter_re_.resize(m);
  filter_im_.resize(m);
  Numbers other_re(m, c.scratch()), other_im(m, c.scratch());
  const double share = 1 / static_cast<double>(length);  // of the inverse transform
  for (size_t k = 0; k < n; ++k) {
    const size_t mirror = k == 0 ? 0 : m - k;
    filter_re_[k] = filter_re_[mirror] = share * chirp_re_[k];
    filter_im_[k] = filter_im_[mirror] = -share * chirp_im_[k];
  }
  FourierLines lines{filter_re_.data(), filter_im_.data(), other_re.data(), other_im.data()};
  plan.run(lines, 1, [&] { c.poll(); });
  if (lines.re == other_re.data()) {
    filter_re_.swap(other_re);
    filter_im_.swap(other_im);
  }
}

void FourierPlan::run(FourierLines& lines, int64_t lanes, FunctionRef<void()> poll) const {
  if (!convolved_.empty()) return convolve(lines, lanes, poll);
  const auto step = fourier_kernels(isa_).step;
  int64_t s = lanes, left = n_;
  for (int64_t radix : radices_) {
    left /= radix;
    const int64_t piece = std::max<int64_t>(1, polled / (s * radix));
    for (int64_t p = 0; p < left; p += piece) {
      poll();
      step({radix, left, s, p, std::min(p + piece, left), lines.re, lines.im, lines.other_re, lines.other_im,
            root_re_.data(), root_im_.data(), s / lanes, n_});
    }
    s *= radix;
    std::swap(lines.re, lines.other_re);
    std::swap(lines.im, lines.other_im);
  }
}

void FourierPlan::convolve(FourierLines& lines, int64_t lanes, FunctionRef<void()> poll) const {
  const FourierPlan& plan = convolved_[0];
  const auto multiply = [&, f = fourier_kernels(isa_).multiply](const Numbers& by_re, const Numbers& by_im,
                                                                int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      if (k * lanes % polled < lanes) poll();
      f(lines.re + k * lanes, lines.im + k * lanes, by_re[static_cast<size_t>(k)],
        by_im[static_cast<size_t>(k)], lanes);
    }
  };
  const auto swap_parts = [&] {  // the inverse transform is the forward one with both parts swapped
    std::swap(lines.re, lines.im);
    std::swap(lines.other_re, lines.other_im);
  };
  multiply(chirp_re_, chirp_im_, n_);
  std::fill(lines.re + n_ * lanes, lines.re + plan.n_ * lanes, 0.0);
  std::fill(lines.im + n_ * lanes, lines.im + plan.n_ * lanes, 0.0);
  plan.run(lines, lanes, poll);
  multiply(filter_re_, filter_im_, plan.n_);
  swap_parts();
  plan.run(lines, lanes, poll);
  swap_parts();
  multiply(chirp_re_, chirp_im_, n_);
}

}  // namespace lathe::cpu
