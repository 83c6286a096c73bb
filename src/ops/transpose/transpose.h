// Transpose: permutes axes.
#pragma once

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"
#include "tensor/strides.h"

namespace lathe {

struct Transpose {
  std::vector<int64_t> perm;  // empty: reversed
  void fields(auto&& f) { f("perm", perm); }

  /// The input axis that becomes each output axis, checked.
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
    if (const auto* v = c.values(0))
      if (const auto dense = known_shape(c.shape(0))) {
        const Shape from = row_major(*dense);
        Shape shape, strides;
        for (int64_t axis : order(dense->size())) {
          shape.push_back((*dense)[static_cast<size_t>(axis)]);
          strides.push_back(from[static_cast<size_t>(axis)]);
        }
        c.output_values(0, strided_elements(*v, shape, strides));
      }
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
