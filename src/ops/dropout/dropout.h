// Dropout: the identity in inference; in training mode random elements are dropped and the rest scaled.
#pragma once

#include <optional>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Dropout {
  std::optional<int64_t> seed;
  void fields(auto&& f) { f("seed", seed); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i : {size_t{1}, size_t{2}})
      if (c.has(i))
        c.require(c.rank(i) == 0 || (c.rank(i) == 1 && known(c.shape(i)[0]) == 1), "a scalar",
                  c.text(c.shape(i)));
    c.output(0, c.shape(0));
    c.output(1, c.shape(0));
  }
};

}  // namespace lathe
