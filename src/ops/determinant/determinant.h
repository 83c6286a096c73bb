// Det: [*, M, M] → [*].
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Determinant {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> matrices = c.shape(0);
    c.require(matrices.size() >= 2, "matrices, of rank 2 or more", c.text(matrices));
    c.same(matrices[matrices.size() - 2], matrices.back(), "rows and columns");
    matrices.resize(matrices.size() - 2);
    c.output(0, std::move(matrices));
  }
};

}  // namespace lathe
