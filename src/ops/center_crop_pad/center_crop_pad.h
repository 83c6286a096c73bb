// CenterCropPad: cuts or fills up with zeros to sizes that are given, on both sides alike.
#pragma once

#include <optional>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct CenterCropPad {
  std::optional<std::vector<int64_t>> axes;  // that the sizes are of; left out: all
  void fields(auto&& f) { f("axes", axes); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == 1, "sizes of rank 1", c.text(c.shape(1)));
    const auto count = axes ? static_cast<int64_t>(axes->size()) : c.rank(0);
    c.same(c.shape(1)[0], D(count), "the sizes and the axes");
    const auto* sizes = c.values(1);
    std::vector<D> out = c.shape(0);
    for (int64_t i = 0; i < count; ++i) {
      const auto at =
          static_cast<size_t>(axes ? c.axis((*axes)[static_cast<size_t>(i)], c.rank(0), "axes") : i);
      const auto size = sizes ? std::optional<D>((*sizes)[static_cast<size_t>(i)]) : c.data_dependent();
      if (!size) return;
      const auto n = known(*size);
      c.require(!n || *n >= 0, "sizes from 0", to_text(*size));
      out[at] = *size;
    }
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
