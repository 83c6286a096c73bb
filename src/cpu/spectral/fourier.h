// Discrete Fourier transforms of any length, of several lines at once. They are computed in double, so that
// small parts of a spectrum keep their digits at any length.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "kernel/kernel.h"

namespace lathe::cpu {

/// One step of a transform (Stockham's algorithm, whose output is in order). It computes the spectrum of each
/// group of `radix` numbers that are `groups` apart, times twiddle factors, for groups [first, end). A number
/// is `s` doubles, of lines or parts that are processed alike.
struct FourierStep {
  int64_t radix, groups, s, first, end;
  const double *x_re, *x_im;
  double *y_re, *y_im;
  const double *root_re, *root_im;  // all n-th roots of 1
  int64_t root_step;                // the distance between the roots that this step needs
  int64_t roots;                    // n
};
struct FourierKernels {
  void (*step)(const FourierStep&) = nullptr;
  /// Multiplies n complex numbers with `by`.
  void (*multiply)(double* re, double* im, double by_re, double by_im, int64_t n) = nullptr;
};
const FourierKernels& fourier_kernels(Isa isa);

/// Complex lines side by side, number k of line l at [k * lanes + l], and a second buffer of the same size.
struct FourierLines {
  double *re, *im, *other_re, *other_im;
};

/// The plan for transforms of one length: by factors of 2, 3, 4, 5 and other small primes; if the length has
/// a larger prime factor, as a convolution (Bluestein 1970). Immutable, so many threads may use it.
class FourierPlan {
 public:
  /// Uses the context's scratch memory.
  FourierPlan(int64_t n, Isa isa, KernelContext& c);

  /// The numbers of each line that each of the four arrays of FourierLines must have room for.
  int64_t scratch_size() const { return convolved_.empty() ? n_ : convolved_[0].n_; }
  /// The forward transform, without a factor. The result is in re and im, which may have been swapped with
  /// other_re and other_im. Calls `poll` now and then.
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
  // For convolutions: the plan of the transforms (one or none), the chirp, and the filter's spectrum.
  std::pmr::vector<FourierPlan> convolved_;
  Numbers chirp_re_, chirp_im_, filter_re_, filter_im_;
};

}  // namespace lathe::cpu
