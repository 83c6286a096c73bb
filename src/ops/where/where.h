// The operator Where: elements of one tensor or another.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace lathe {

struct Where : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_values(
        c, c.type(1),
        [](const std::vector<D>& v) -> std::optional<D> {
          if (v[1] == v[2]) return v[1];
          const auto condition = known(v[0]);
          return condition ? std::optional<D>(*condition != 0 ? v[1] : v[2]) : std::nullopt;
        },
        3);
  }
};

}  // namespace lathe
