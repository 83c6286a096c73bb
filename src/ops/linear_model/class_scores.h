// post_transform and the labels of classes, which the classifiers of ai.onnx.ml share.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe {

enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

/// Nothing if there is no transform of that name.
inline std::optional<PostTransform> post_transform(std::string_view name) {
  constexpr std::string_view names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<PostTransform>(i);
  return std::nullopt;
}

[[noreturn]] inline void bad_attribute(KernelContext& c, std::string expected, std::string got) {
  c.fail(Code::node_bad_attribute, std::move(expected), std::move(got));
}

inline PostTransform transform_named(const std::string& name, KernelContext& c) {
  const auto found = post_transform(name);
  if (!found) bad_attribute(c, "post_transform NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", name);
  return *found;
}

inline double logistic(double v) { return 1 / (1 + std::exp(-v)); }

/// The quantile of the normal distribution, by the approximation of the error function's inverse of Winitzki
/// (2008), as in other implementations of these operators; exact to some thousandths.
inline double probit(double p) {
  const double x = 2 * p - 1, log = std::log((1 - x) * (1 + x));
  if ((1 - x) * (1 + x) == 0) return 0;
  const double a = 0.147, v = 2 / (3.141592653589793 * a) + 0.5 * log;
  return std::copysign(1.41421356 * std::sqrt(std::sqrt(v * v - log / a) - v), x);
}

/// Transforms one row of scores.
inline void transform(std::span<double> scores, PostTransform how) {
  if (scores.empty()) return;
  switch (how) {
    case PostTransform::none:
      return;
    case PostTransform::logistic:
      for (double& v : scores) v = logistic(v);
      return;
    case PostTransform::probit:
      for (double& v : scores) v = probit(v);
      return;
    case PostTransform::softmax:
    case PostTransform::softmax_zero: {
      // SOFTMAX_ZERO gives scores of 0 no share.
      const double greatest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& v : scores) {
        const bool nothing = how == PostTransform::softmax_zero && std::abs(v) <= 1e-7;
        sum += v = nothing ? v * std::exp(-greatest) : std::exp(v - greatest);
      }
      for (double& v : scores) v = sum == 0 ? 0.5 : v / sum;
    }
  }
}

inline void store_row(Tensor& out, int64_t row, std::span<const double> scores) {
  for (size_t k = 0; k < scores.size(); ++k)
    store_double(out, row * static_cast<int64_t>(scores.size()) + static_cast<int64_t>(k), scores[k]);
}

/// The labels of a classifier: integers or strings. A class that is not listed has its index or an empty
/// string.
struct ClassLabels {
  std::span<const int64_t> numbers;
  std::span<const std::string> words;
  size_t size() const { return std::max(numbers.size(), words.size()); }
  DataType type() const { return words.empty() ? DataType::int64 : DataType::string; }
  void store(Tensor& to, int64_t row, size_t label) const {
    if (words.empty())
      to.as<int64_t>()[static_cast<size_t>(row)] =
          label < numbers.size() ? numbers[label] : static_cast<int64_t>(label);
    else
      to.as<std::string>()[static_cast<size_t>(row)] = label < words.size() ? words[label] : std::string();
  }
};

}  // namespace lathe
