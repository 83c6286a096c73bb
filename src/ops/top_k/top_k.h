// TopK: the K greatest (or least) elements along an axis, and their indices.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct TopK {
  int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
  void fields(auto&& f) {
    f("axis", axis);
    f("largest", largest);
    f("sorted", sorted);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto a = static_cast<size_t>(c.axis(axis, c.rank(0)));
    const auto count = known(c.product(c.shape(1)));
    c.require(!count || *count == 1, "K of one element", c.text(c.shape(1)));
    std::vector<D> out = c.shape(0);
    if (const auto* k = c.values(1); k && k->size() == 1) {
      const auto n = known((*k)[0]), size = known(out[a]);
      c.require(!n || (*n >= 0 && (!size || *n <= *size)),
                "K from 0 to the size of axis " + std::to_string(a), to_text((*k)[0]) + " of " + c.text(out));
      out[a] = (*k)[0];
    } else {
      const auto d = c.data_dependent(out[a]);
      if (!d) return;
      out[a] = *d;
    }
    c.output(0, out);
    c.output(1, std::move(out));
  }
};

}  // namespace lathe
