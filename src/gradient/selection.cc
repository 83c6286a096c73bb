#include "gradient/selection.h"

#include <cstdint>
#include <string>

namespace lathe {

ValueId flattened(Backward& b, ValueId v) { return b.add("Reshape", {v, b.ints({-1})}); }

void selection(Backward& b, std::vector<ValueId> inputs) {
  const ValueId x = b.x();
  const ValueId one = b.add("Squeeze", {b.ints({1})}), count = b.add("Size", {x});
  const ValueId numbers = b.shaped_like(b.add("Range", {one, b.add("Add", {count, one}), one}), x);
  inputs[0] = numbers;
  const std::vector<ValueId> moved =
      b.add_all(b.node().op, std::move(inputs), b.node().outputs.size(), b.attributes());
  std::vector<ValueId> places, gradients;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (b.gradient(i) == no_id) continue;
    places.push_back(flattened(b, moved[i]));
    gradients.push_back(flattened(b, b.gradient(i)));
  }
  const auto joined = [&](const std::vector<ValueId>& v) {
    return v.size() == 1 ? v[0] : b.add("Concat", v, with("axis", int64_t{0}));
  };
  const ValueId zeros = b.add("Pad", {flattened(b, b.zeros_like(x)), b.ints({1, 0})});
  Attributes adding = with("axis", int64_t{0});
  adding.set("reduction", std::string("add"));
  const ValueId sums =
      b.add("ScatterElements", {zeros, joined(places), joined(gradients)}, std::move(adding));
  const ValueId sliced = b.add("Slice", {sums, b.ints({1}), b.ints({INT64_MAX}), b.ints({0})});
  b.give(0, b.shaped_like(sliced, x));
}

void selection_rule(Backward& b) { selection(b, b.node().inputs); }

}  // namespace lathe
