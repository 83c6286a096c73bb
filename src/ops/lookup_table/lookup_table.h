// lathe.LookupTable: y = table[x], for each byte. X of eight bits, table [256] by the bits of x; both in
// channel blocks or both not. The builder makes it of operators between DequantizeLinear and QuantizeLinear
// that depend on one byte alone; it occurs in plans, never in graphs.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct LookupTable {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == 1, "a table of rank 1", c.text(c.shape(1)));
    c.same(c.shape(1)[0], D(256), "the size of the table and how many bytes there are");
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
