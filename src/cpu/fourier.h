// Discrete Fourier transforms of any length, of several lines at once. In double: what is small beside the
// rest of a spectrum keeps its digits, whatever the length.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "kernel/kernel.h"

namespace lathe::cpu {

/// One step of a transform (Stockham's: what it gives is in order). Of each group of `radix` numbers that are
/// `groups` apart it makes their spectrum, turned by powers of a root; groups [first, end). A number is `s`
/// doubles, of as many lines or parts that are done alike.
struct FourierStep {
  int64_t radix, groups, s, first, end;
  const double *x_re, *x_im;
  double *y_re, *y_im;
  const double *root_re, *root_im;  // all n-th roots of 1
  int64_t root_step;                // of them, that many to one of those this step needs
  int64_t roots;                    // n
};
struct FourierKernels {
  void (*step)(const FourierStep&) = nullptr;
  /// to *= by, of n complex numbers.
  void (*multiply)(double* re, double* im, double by_re, double by_im, int64_t n) = nullptr;
};
const FourierKernels& fourier_kernels(Isa isa);

/// Complex lines side by side, number k of line l at [k * lanes + l], and as much room again.
struct FourierLines {
  double *re, *im, *other_re, *other_im;
};

/// How lines of one length are transformed: by factors of 2, 3, 4, 5 and other small primes; where the length
/// has a greater one, as a convolution (Bluestein 1970). Immutable: many threads may use it.
class FourierPlan {
 public:
  /// Memory is the context's scratch.
  FourierPlan(int64_t n, Isa isa, KernelContext& c);

  /// Numbers that each of the four parts of FourierLines must have room for, of one line.
  int64_t room() const { return convolved_.empty() ? n_ : convolved_[0].n_; }
  /// Forwards, not divided by anything. The result is in re and im, which may trade places with the others.
  /// `poll` is called every now and then.
  void run(FourierLines& lines, int64_t lanes, FunctionRef<void()> poll) const;

  /// exp(-2 pi i k / n) for k < count.
  static void roots(int64_t n, int64_t count, double* re, double* im, KernelContext& c);

 private:
  using Numbers = std::pmr::vector<double>;
  void convolve(FourierLines& lines, int64_t lanes, FunctionRef<void()> poll) const;
  void make_convolution(KernelContext& c);

  int64_t n_;
  Isa isa_;
  std::pmr::vector<int64_t> radices_;
  Numbers root_re_, root_im_;
  // Of a convolution: its plan (one or none), the chirp, and the filter's spectrum.
  std::pmr::vector<FourierPlan> convolved_;
  Numbers chirp_re_, chirp_im_, filter_re_, filter_im_;
};

}  // namespace lathe::cpu
