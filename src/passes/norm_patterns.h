// Patterns that decomposed normalizations share.
#pragma once

#include "passes/patterns.h"

namespace lathe {

/// x and epsilon of sqrt(mean(x²) + epsilon), over the axes from `axis` on.
struct Deviation {
  ValueId x = no_id;
  double epsilon = 0;
  int64_t axis = 0;
};

/// Matches `v` as the square of a deviation.
inline std::optional<Deviation> variance(const View& view, ValueId v) {
  const Node* sum = view.made_by(v, "Add");
  const auto plus = sum ? with_number(view, *sum) : std::nullopt;
  const auto square = plus ? mean_square(view, plus->x) : std::nullopt;
  return square ? std::optional(Deviation{square->x, plus->number, square->axis}) : std::nullopt;
}

/// Matches `v` as the square of a deviation, raised to `exponent`.
inline std::optional<Deviation> power_of_variance(const View& view, ValueId v, double exponent) {
  const Node* pow = view.made_by(v, "Pow");
  return pow && view.uniform(pow->inputs[1]) == exponent ? variance(view, pow->inputs[0]) : std::nullopt;
}

inline std::optional<Deviation> deviation(const View& view, ValueId v) {
  if (const Node* root = view.made_by(v, "Sqrt")) return variance(view, root->inputs[0]);
  return power_of_variance(view, v, 0.5);
}

/// Matches `v` as 1 over a deviation.
inline std::optional<Deviation> inverse_deviation(const View& view, ValueId v) {
  if (const Node* inverse = view.made_by(v, "Reciprocal")) return deviation(view, inverse->inputs[0]);
  if (const Node* inverse = view.made_by(v, "Div"))
    return view.uniform(inverse->inputs[0]) == 1.0 ? deviation(view, inverse->inputs[1]) : std::nullopt;
  return power_of_variance(view, v, -0.5);
}

/// Returns whether a is b, or one is p - q and the other q - p: their squares are the same.
inline bool same_magnitude(const View& view, ValueId a, ValueId b) {
  if (a == b) return true;
  const Node *one = view.made_by(a, "Sub"), *other = view.made_by(b, "Sub");
  return one && other && one->inputs[0] == other->inputs[1] && one->inputs[1] == other->inputs[0];
}

/// x and its deviation where v is x / sqrt(mean(x²) + epsilon), in any variant.
inline std::optional<Deviation> normalized(const View& view, ValueId v) {
  const auto of = [&](ValueId x, std::optional<Deviation> d) {
    if (d && !same_magnitude(view, x, d->x)) d.reset();
    if (d) d->x = x;
    return d;
  };
  if (const Node* div = view.made_by(v, "Div")) return of(div->inputs[0], deviation(view, div->inputs[1]));
  if (const Node* mul = view.made_by(v, "Mul"))
    for (size_t i : {size_t{0}, size_t{1}})
      if (const auto d = of(mul->inputs[1 - i], inverse_deviation(view, mul->inputs[i]))) return d;
  return std::nullopt;
}

/// x where `v` is x - mean(x) over the axes from `axis` on.
inline ValueId centered(const View& view, ValueId v, int64_t axis) {
  const Node* sub = view.made_by(v, "Sub");
  const auto average = sub ? mean(view, sub->inputs[1]) : std::nullopt;
  return average && average->x == sub->inputs[0] && average->axis == axis ? average->x : no_id;
}

/// Returns whether the operators compute as kernels do with the operators of the pattern: statistics in
/// float32 for these types.
inline bool computes_alike(const View& view, ValueId x) { return fits_float32(view.type(x).elem); }

}  // namespace lathe
