// Outputs whose size the data decide: NonZero, Compress, Unique.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Indices of elements other than 0, one column each. A scalar has no axes: its column has no rows.
struct NonZero {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (const auto n = c.data_dependent(c.product(c.shape(0)))) c.output(0, {D(c.rank(0)), *n});
  }
};

/// The slices along an axis (without one: the elements) where the condition is true.
struct Compress {
  std::optional<int64_t> axis;
  void fields(auto&& f) { f("axis", axis); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(1) == 1, "a condition of rank 1", "rank " + std::to_string(c.rank(1)));
    const auto at = axis ? std::optional(c.axis(*axis, c.rank(0))) : std::nullopt;
    std::optional<D> count;
    if (const auto condition = c.numbers(1)) {
      int64_t n = 0;
      for (int64_t v : *condition) n += v != 0;
      count = D(n);
    } else {
      count = c.data_dependent(at ? c.shape(0)[static_cast<size_t>(*at)] : c.product(c.shape(0)));
    }
    if (!count) return;
    std::vector<D> out{*count};
    if (at) {
      out = c.shape(0);
      out[static_cast<size_t>(*at)] = *count;
    }
    c.output(0, std::move(out));
  }
};

struct Unique {
  std::optional<int64_t> axis;
  bool sorted = true;
  void fields(auto&& f) {
    f("axis", axis);
    f("sorted", sorted);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto at = axis ? std::optional(c.axis(*axis, c.rank(0))) : std::nullopt;
    const auto n = c.data_dependent(at ? c.shape(0)[static_cast<size_t>(*at)] : c.product(c.shape(0)));
    if (!n) return;
    std::vector<D> out{*n};
    if (at) {
      out = c.shape(0);
      out[static_cast<size_t>(*at)] = *n;
    }
    c.output(0, std::move(out));
    c.output(1, {*n});
    c.output(2, {at ? c.shape(0)[static_cast<size_t>(*at)] : c.product(c.shape(0))});
    c.output(3, {*n});
  }
};

}  // namespace lathe
