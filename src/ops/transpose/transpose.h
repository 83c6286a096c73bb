// Transpose: permutes axes.
#pragma once

#include "lathe/shape.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Transpose {
  std::vector<int64_t> perm;  // empty: reversed
  void fields(auto&& f) { f("perm", perm); }

  /// Which input axis becomes each output axis, checked.
  Shape order(size_t rank) const {
    Shape axes(rank, 0);
    for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(perm.empty() ? rank - 1 - i : i);
    if (perm.empty()) return axes;
    Shape sorted(perm.begin(), perm.end());
    std::sort(sorted.begin(), sorted.end());
    if (!(sorted == axes))
      throw Error(Code::node_bad_attribute, "infer",
                  "perm to be a permutation of " + std::to_string(rank) + " axes", describe(Shape(perm)));
    return Shape(perm);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out;
    for (int64_t axis : order(c.shape(0).size())) out.push_back(c.shape(0)[static_cast<size_t>(axis)]);
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
