// Concat: joins tensors along an axis.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Concat {
  int64_t axis = 0;
  void fields(auto&& f) { f("axis", axis); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    const auto along = static_cast<size_t>(c.axis(axis, c.rank(0)));
    for (size_t i = 1; i < c.inputs(); ++i) {
      c.require(c.rank(i) == c.rank(0), "inputs of rank " + std::to_string(c.rank(0)),
                "rank " + std::to_string(c.rank(i)));
      for (size_t a = 0; a < out.size(); ++a)
        out[a] = a == along ? plus(out[a], c.shape(i)[a])
                            : c.same(out[a], c.shape(i)[a], "axis " + std::to_string(a) + " of the inputs");
    }
    if (c.rank(0) == 1) values(c);
    c.output(0, std::move(out));
  }

 private:
  template <class D>
  static void values(ShapeContext<D>& c) {
    std::vector<D> all;
    for (size_t i = 0; i < c.inputs(); ++i) {
      const auto* v = c.values(i);
      if (!v) return;
      all.insert(all.end(), v->begin(), v->end());
    }
    c.output_values(0, std::move(all));
  }
};

}  // namespace lathe
