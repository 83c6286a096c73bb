// Shape and Size: what is known of a tensor without reading it.
#pragma once

#include <algorithm>

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct ShapeOf {
  int64_t start = 0;
  std::optional<int64_t> end;
  void fields(auto&& f) {
    f("start", start);
    f("end", end);
  }

  /// The requested axes: [first, last), clamped.
  std::pair<int64_t, int64_t> range(int64_t rank) const {
    const auto clamped = [rank](int64_t a) { return std::clamp<int64_t>(a < 0 ? a + rank : a, 0, rank); };
    const int64_t first = clamped(start), last = clamped(end.value_or(rank));
    return {first, std::max(first, last)};
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto [first, last] = range(c.rank(0));
    const auto at = c.shape(0).begin();
    c.output_values(0, std::vector<D>(at + first, at + last));
    c.output(0, {D(last - first)});
  }
};

struct SizeOf {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    D count(1);
    for (const D& d : c.shape(0)) count = times(count, d);
    c.output_values(0, {count});
    c.output(0, {});
  }
};

}  // namespace lathe
