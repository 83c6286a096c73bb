// What spelled normalisations have in common.
#pragma once

#include "passes/patterns.h"

namespace lathe {

/// x and epsilon where v is sqrt(mean(x²) + epsilon).
struct Deviation {
  ValueId x = no_id;
  double epsilon = 0;
  int64_t axis = 0;
};
inline std::optional<Deviation> deviation(const View& view, ValueId v) {
  const Node* root = view.made_by(v, "Sqrt");
  const Node* sum = root ? view.made_by(root->inputs[0], "Add") : nullptr;
  const auto plus = sum ? with_number(view, *sum) : std::nullopt;
  const auto average = plus ? mean(view, plus->x) : std::nullopt;
  if (!average) return std::nullopt;
  const ValueId x = squared(view, average->x);
  if (x == no_id) return std::nullopt;
  return Deviation{x, plus->number, average->axis};
}

/// x and its deviation where v is x / sqrt(mean(x²) + epsilon), in either spelling.
inline std::optional<Deviation> normalised(const View& view, ValueId v) {
  if (const Node* div = view.made_by(v, "Div")) {
    const auto d = deviation(view, div->inputs[1]);
    return d && d->x == div->inputs[0] ? d : std::nullopt;
  }
  if (const Node* mul = view.made_by(v, "Mul"))
    for (size_t i : {size_t{0}, size_t{1}}) {
      ValueId root = no_id;
      if (const Node* inverse = view.made_by(mul->inputs[i], "Reciprocal")) root = inverse->inputs[0];
      if (const Node* inverse = view.made_by(mul->inputs[i], "Div"))
        if (view.uniform(inverse->inputs[0]) == 1.0) root = inverse->inputs[1];
      const auto d = root == no_id ? std::nullopt : deviation(view, root);
      if (d && d->x == mul->inputs[1 - i]) return d;
    }
  return std::nullopt;
}

/// x where `v` is x - mean(x) over the axes from `axis` on.
inline ValueId centred(const View& view, ValueId v, int64_t axis) {
  const Node* sub = view.made_by(v, "Sub");
  const auto average = sub ? mean(view, sub->inputs[1]) : std::nullopt;
  return average && average->x == sub->inputs[0] && average->axis == axis ? average->x : no_id;
}

/// The operators keep their statistics in float32; so does the pattern only for this type.
inline bool computes_alike(const View& view, ValueId x) { return view.type(x).elem == DataType::float32; }

}  // namespace lathe
