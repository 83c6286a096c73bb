// Low-rank changes of weights.
#pragma once

#include "lathe/refit.h"
#include "runtime/engine_impl.h"

namespace lathe {

struct LowRank {
  Tensor a, b;  // [rank, in], [out, rank]
  float scale = 1;
  bool transposed = false;
};

/// Throws refit_bad_weight, naming the weight and the expectation.
void check_fit(const LoraDelta& delta, const Tensor& weight);

/// base + Σ scale · b · a over the adapters in the order of their names, in double, rounded once. Throws
/// run_out_of_memory, cancelled, deadline.
Tensor merged(const AdaptedWeight& weight, RunControl* control);

}  // namespace lathe
