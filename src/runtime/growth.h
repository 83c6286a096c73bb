// What grows with the states of a plan. One memory plan serves all lengths up to a rounded one: what depends
// on them has memory for that, and its shape is that of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/declared_sums.h"
#include "plan/plan.h"

namespace lathe {

/// Returns the length for which a memory plan is made that serves this one: powers of two, so that 2,000
/// steps take four of them and memory is at most twice what is needed.
int64_t rounded_length(int64_t length);

class Growth {
 public:
  /// Nothing grows.
  Growth() = default;
  explicit Growth(const Plan& plan);

  bool empty() const { return lengths_.empty(); }
  /// Returns whether the shape of a value of the main graph may depend on the lengths.
  bool varies(uint32_t v) const { return varies_[v]; }
  /// The sizes of the plan's symbols, in its order; -1: unknown. Reused from run to run.
  struct Sizes {
    std::vector<int64_t> now, greater;
    std::vector<size_t> first;  // by input: where its sizes begin in the key
  };
  /// Rounds the lengths up in the shapes of all inputs: for each of them its rank and its sizes, -1 alone for
  /// one that is no tensor. Returns whether it did; if not, nothing has a length yet, or the sizes are not
  /// those that the model declares, and the key is as before. `sizes.now` are those before rounding.
  bool round_up(std::vector<int64_t>& key, Sizes& sizes) const;
  /// Fills `sizes.now` from a key.
  void read(const std::vector<int64_t>& key, Sizes& sizes) const;
  /// Evaluates an expression over the plan's symbols, without allocating; nothing if a size is unknown.
  std::optional<int64_t> evaluate(const Dim& d, const std::vector<int64_t>& sizes) const;

 private:
  struct Axis {
    size_t input = 0, axis = 0;
    Dim size;  // over the symbols of the plan
  };
  std::vector<Plan::Symbol> symbols_;  // of the plan: where their sizes are
  std::vector<size_t> lengths_;        // which of them are lengths
  std::vector<Axis> axes_;             // those of inputs that depend on a length
  std::vector<bool> varies_;
};

}  // namespace lathe
