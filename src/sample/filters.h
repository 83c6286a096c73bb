// What sampling leaves of the tokens, and the choice among these.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lathe/sampling.h"

namespace lathe::sample {

/// The logit of a token that may not be taken.
inline constexpr float banned = -std::numeric_limits<float>::infinity();

struct Candidate {
  int32_t token;
  float logit;
};

/// The tokens that may be taken, by id. Sums are in double and in this order, so that they are the same bits
/// on every machine whose exponential is.
class Candidates {
 public:
  /// Takes tokens whose logits are not minus infinity. Throws run_bad_value for NaN, and where none is left.
  explicit Candidates(std::span<const float> logits);

  /// Applies temperature, top_k, top_p, min_p and typical_p, in this order.
  void filter(const GenerationConfig& config);
  /// Returns the token at which the sum of probabilities, by id, exceeds `uniform`, which is in [0, 1).
  int32_t draw(double uniform) const;
  const std::vector<Candidate>& list() const { return list_; }

 private:
  void keep_top_k(size_t k);
  void keep_top_p(double p);
  void keep_min_p(double p);
  void keep_typical(double p);
  /// Returns exp(logit - greatest) of each, and their sum.
  std::vector<double> weights(double& sum) const;
  float greatest() const;
  /// Keeps the candidates at these places, in the order of their ids.
  void keep(std::vector<size_t> places);

  std::vector<Candidate> list_;
};

/// Returns the token of the greatest logit; of equal ones, that of the lowest id. Throws as Candidates does.
int32_t greatest(std::span<const float> logits);

}  // namespace lathe::sample
