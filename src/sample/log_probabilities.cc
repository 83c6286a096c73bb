#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "lathe/error.h"
#include "lathe/sampling.h"

namespace lathe {
namespace {

/// Returns the logarithm of the sum of the exponentials.
double log_sum_exp(std::span<const float> logits) {
  float most = -std::numeric_limits<float>::infinity();
  for (float v : logits) {
    if (std::isnan(v)) throw Error(Code::run_bad_value, "sample", "logits that are numbers", "NaN");
    most = std::max(most, v);
  }
  if (!std::isfinite(most))
    throw Error(Code::run_bad_value, "sample", "a greatest logit that is finite", std::to_string(most));
  double sum = 0;
  for (float v : logits) sum += std::exp(static_cast<double>(v) - most);
  return most + std::log(sum);
}

}  // namespace

float log_probability(std::span<const float> logits, int32_t token) {
  if (token < 0 || static_cast<size_t>(token) >= logits.size())
    throw Error(Code::bad_argument, "sample", "a token below " + std::to_string(logits.size()),
                std::to_string(token));
  return static_cast<float>(logits[static_cast<size_t>(token)] - log_sum_exp(logits));
}

std::vector<TokenLogprob> top_log_probabilities(std::span<const float> logits, size_t count) {
  const double all = log_sum_exp(logits);
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  const auto logit = [&](int32_t t) { return logits[static_cast<size_t>(t)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  std::vector<TokenLogprob> list;
  for (size_t i = 0; i < count; ++i) list.push_back({order[i], static_cast<float>(logit(order[i]) - all)});
  return list;
}

}  // namespace lathe
