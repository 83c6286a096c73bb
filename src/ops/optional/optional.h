// Optional values: a present one is the value itself, an empty one is no value.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct MakeOptional {
  std::string type;  // of the element, when none is given: "float[2,3]"
  void fields(auto&& f) { f("type", type); }
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct OptionalHasElement {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {});
  }
};
struct OptionalGetElement {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
