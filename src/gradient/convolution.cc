#include "gradient/convolution.h"

namespace lathe {

ValueId filter_gradient(Backward& b, const ConvWindows& w, ValueId many, ValueId few, ValueId filter) {
  const size_t n = w.axes();
  std::vector<int64_t> apart{-1, w.group, b.size(many, 1) / w.group}, permutation{2, 1, 0},
      joined{b.size(many, 1) / w.group, -1};
  std::vector<int64_t> exchange{1, 0};
  for (size_t k = 0; k < n; ++k) {
    apart.push_back(b.size(many, k + 2));
    joined.push_back(b.size(many, k + 2));
    permutation.push_back(static_cast<int64_t>(k) + 3);
    exchange.push_back(static_cast<int64_t>(k) + 2);
  }
  // [C / group, group * N, in …] and [M, N, out …].
  const ValueId grouped =
      b.add("Transpose", {b.add("Reshape", {many, b.ints(apart)})}, with("perm", permutation));
  const ValueId data = b.add("Reshape", {grouped, b.ints(joined)});
  Attributes a = with("strides", w.dilations);
  a.set("dilations", w.strides);
  a.set("pads", w.pads);
  a.set("group", w.group);
  const ValueId wide = b.add("Conv", {data, b.add("Transpose", {few}, with("perm", exchange))}, std::move(a));
  // The result is longer than the kernel by the elements that the last step of a window did not reach.
  std::vector<int64_t> begin(n, 0), end, axes;
  for (size_t k = 0; k < n; ++k) {
    end.push_back(b.size(filter, k + 2));
    axes.push_back(static_cast<int64_t>(k) + 2);
  }
  const ValueId cut = b.add("Slice", {wide, b.ints(begin), b.ints(end), b.ints(axes)});
  return b.add("Transpose", {cut}, with("perm", exchange));
}

ValueId bias_gradient(Backward& b, size_t axes) {
  std::vector<int64_t> all{0};
  for (size_t k = 0; k < axes; ++k) all.push_back(static_cast<int64_t>(k) + 2);
  return b.add("ReduceSum", {b.gradient(), b.ints(all)}, with("keepdims", int64_t{0}));
}

}  // namespace lathe
