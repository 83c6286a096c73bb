#include "sample/filters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "lathe/error.h"

namespace lathe::sample {
namespace {

[[noreturn]] void refuse_nan(size_t token) {
  throw Error(Code::run_bad_value, "sample", "logits that are numbers",
              "NaN for token " + std::to_string(token));
}
[[noreturn]] void refuse_none() {
  throw Error(Code::run_bad_value, "sample", "a token that may be taken", "none: all are banned",
              "loosen bans, or the lengths that forbid an end token");
}

}  // namespace

int32_t greatest(std::span<const float> logits) {
  size_t best = logits.size();
  float most = banned;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) refuse_nan(i);
    if (logits[i] > most) most = logits[i], best = i;
  }
  if (best == logits.size()) refuse_none();
  return static_cast<int32_t>(best);
}

Candidates::Candidates(std::span<const float> logits) {
  list_.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) refuse_nan(i);
    if (logits[i] != banned) list_.push_back({static_cast<int32_t>(i), logits[i]});
  }
  if (list_.empty()) refuse_none();
}

void Candidates::filter(const GenerationConfig& c) {
  if (c.temperature != 1)
    for (Candidate& one : list_) one.logit /= c.temperature;
  if (c.top_k > 0 && static_cast<size_t>(c.top_k) < list_.size()) keep_top_k(static_cast<size_t>(c.top_k));
  if (c.top_p < 1) keep_top_p(c.top_p);
  if (c.min_p > 0) keep_min_p(c.min_p);
  if (c.typical_p < 1) keep_typical(c.typical_p);
}

float Candidates::greatest() const { return std::ranges::max(list_, {}, &Candidate::logit).logit; }

std::vector<double> Candidates::weights(double& sum) const {
  const double most = greatest();
  std::vector<double> list(list_.size());
  sum = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    // Infinite logits share all of the probability.
    list[i] = std::isinf(most) ? (list_[i].logit == static_cast<float>(most) ? 1 : 0)
                               : std::exp(static_cast<double>(list_[i].logit) - most);
    sum += list[i];
  }
  return list;
}

void Candidates::keep(std::vector<size_t> places) {
  std::ranges::sort(places);
  std::vector<Candidate> kept;
  kept.reserve(places.size());
  for (size_t i : places) kept.push_back(list_[i]);
  list_ = std::move(kept);
}

void Candidates::keep_top_k(size_t k) {
  std::vector<float> logits(list_.size());
  std::ranges::transform(list_, logits.begin(), &Candidate::logit);
  std::ranges::nth_element(logits, logits.begin() + static_cast<std::ptrdiff_t>(k - 1), std::greater<>());
  const float least = logits[k - 1];
  std::erase_if(list_, [&](const Candidate& c) { return c.logit < least; });
}

void Candidates::keep_top_p(double p) {
  double sum = 0;
  const std::vector<double> weight = weights(sum);
  std::vector<size_t> order(list_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The likeliest first, of equal ones the lowest id.
  const auto before = [&](size_t a, size_t b) {
    return list_[a].logit != list_[b].logit ? list_[a].logit > list_[b].logit : a < b;
  };
  // Few are wanted most of the time: more and more of them are sorted.
  size_t sorted = 0, kept = 0;
  for (double reached = 0; kept < order.size() && (kept == 0 || reached < p * sum); ++kept) {
    if (kept == sorted) {
      sorted = std::min(order.size(), std::max<size_t>(256, sorted * 4));
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(kept),
                 to = order.begin() + static_cast<std::ptrdiff_t>(sorted);
      std::nth_element(from, to - 1, order.end(), before);
      std::sort(from, to, before);
    }
    reached += weight[order[kept]];
  }
  order.resize(kept);
  keep(std::move(order));
}

void Candidates::keep_min_p(double p) {
  double sum = 0;
  const std::vector<double> weight = weights(sum);
  std::vector<size_t> places;
  // The greatest weight is 1.
  for (size_t i = 0; i < weight.size(); ++i)
    if (weight[i] >= p) places.push_back(i);
  keep(std::move(places));
}

void Candidates::keep_typical(double p) {
  double sum = 0;
  const std::vector<double> weight = weights(sum);
  double entropy = 0;
  for (double w : weight)
    if (w > 0) entropy -= w / sum * std::log(w / sum);
  std::vector<double> distance(weight.size());
  for (size_t i = 0; i < weight.size(); ++i) distance[i] = std::abs(-std::log(weight[i] / sum) - entropy);
  std::vector<size_t> order(weight.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return distance[i]; });
  double reached = 0;
  size_t last = 0;
  while (last < order.size() && (reached += weight[order[last]] / sum) < p) ++last;
  const double farthest = distance[order[std::min(last, order.size() - 1)]];
  std::erase_if(order, [&](size_t i) { return distance[i] > farthest; });
  keep(std::move(order));
}

int32_t Candidates::draw(double uniform) const {
  double sum = 0;
  const std::vector<double> weight = weights(sum);
  double reached = 0;
  size_t last = 0;
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] == 0) continue;
    last = i;
    reached += weight[i];
    if (reached > uniform * sum) break;
  }
  return list_[last].token;
}

}  // namespace lathe::sample
