// Conversions of inputs to the type that arithmetic is done in, and of outputs back, for the references of
// numeric operators.
#pragma once

#include <cmath>
#include <limits>

#include "kernel/temporary.h"
#include "ops/poller.h"
#include "tensor/element.h"

namespace lathe {

/// Sums of floats are formed in double, those of integers modulo 2^64.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// Elements in their compute type: the tensor itself, or a copy in float of one of narrow floats.
inline Tensor in_compute_type(const Tensor& t, KernelContext& c) {
  if (t.type() != DataType::float16 && t.type() != DataType::bfloat16) return t;
  Tensor wide = temporary(c, DataType::float32, t.shape());
  for_type(t.type(), Types<Float16, BFloat16>{}, [&]<class T> {
    const auto from = t.as<T>();
    const auto to = wide.as<float>();
    Poller(c).pieces(t.size(), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        to[i] = Element<T>::load(from[i]);
    });
  });
  return wide;
}

/// A tensor of floats of any width as doubles.
inline Tensor in_double(const Tensor& t, KernelContext& c) {
  if (t.type() == DataType::float64) return t;
  Tensor wide = temporary(c, DataType::float64, t.shape());
  for_type(t.type(), float_types, [&]<class T> {
    const auto from = t.as<T>();
    const auto to = wide.as<double>();
    Poller(c).pieces(t.size(), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        to[i] = static_cast<double>(Element<T>::load(from[i]));
    });
  });
  return wide;
}

/// An output in its compute type while a kernel writes it.
class ComputeOutput {
 public:
  ComputeOutput(Tensor& out, KernelContext& c)
      : out_(out), c_(c), wide_(is_narrow() ? temporary(c, DataType::float32, out.shape()) : out) {}
  Tensor& tensor() { return wide_; }
  /// Rounds the elements to the output's own type, if that is narrower.
  void finish() {
    if (!is_narrow()) return;
    for_type(out_.type(), Types<Float16, BFloat16>{}, [&]<class T> {
      const auto from = wide_.as<float>();
      const auto to = out_.as<T>();
      Poller(c_).pieces(out_.size(), 1, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
          to[i] = Element<T>::store(from[i]);
      });
    });
  }

 private:
  bool is_narrow() const { return out_.type() == DataType::float16 || out_.type() == DataType::bfloat16; }
  Tensor& out_;
  KernelContext& c_;
  Tensor wide_;
};

/// Integer nearest to x, ties to even, clamped to T; 0 for NaN.
template <class T>
T saturated(double x) {
  static_assert(sizeof(T) < 8);
  if (std::isnan(x)) return 0;
  const double r = std::nearbyint(x);
  return static_cast<T>(
      std::min<double>(std::max<double>(r, std::numeric_limits<T>::min()), std::numeric_limits<T>::max()));
}

/// Product of sizes in [from, to).
inline int64_t count_between(const Shape& s, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) n *= s[i];
  return n;
}

}  // namespace lathe
