// Functions of one element without attributes.
#pragma once

#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "tensor/element.h"

namespace lathe {

struct Ceil : SameIntegers {};
struct Floor : SameIntegers {};
struct Round : SameIntegers {};
struct Sqrt : SameShape {};
struct Reciprocal : SameShape {};
struct Exp : SameShape {};
struct Log : SameShape {};
struct Sin : SameShape {};
struct Cos : SameShape {};
struct Tan : SameShape {};
struct Asin : SameShape {};
struct Acos : SameShape {};
struct Atan : SameShape {};
struct Sinh : SameShape {};
struct Cosh : SameShape {};
struct Tanh : SameShape {};
struct Asinh : SameShape {};
struct Acosh : SameShape {};
struct Atanh : SameShape {};
struct Erf : SameShape {};
struct BitwiseNot : SameShape {};

/// Propagates a test of floats. Followed values are integers, neither NaN nor infinite; of a constant all
/// numbers are tested by `holds_for`.
template <class D, class F>
void propagate_test(ShapeContext<D>& c, F holds_for) {
  if (const auto* v = c.values(0)) return c.output_values(0, std::vector<D>(v->size(), D(0)));
  const Tensor* t = c.constant(0);
  if (!t || !is_float(t->type()) || t->size() > max_tracked_floats) return;
  std::vector<D> bools;
  for (int64_t i = 0; i < t->size(); ++i) bools.push_back(D(holds_for(load_double(*t, i)) ? 1 : 0));
  c.output_values(0, std::move(bools));
}
struct IsNaN : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_test(c, [](double x) { return x != x; });
  }
};

struct IsInf : SameShape {
  bool detect_negative = true;
  bool detect_positive = true;
  void fields(auto&& f) {
    f("detect_negative", detect_negative);
    f("detect_positive", detect_positive);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_test(c, [&](double x) { return std::isinf(x) && (x < 0 ? detect_negative : detect_positive); });
  }
};

struct Neg : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_values(c, c.type(0), [](const std::vector<D>& v) {
      return try_arithmetic(
          D(0), v[0], [](int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); },
          [](const D& a, const D& b) { return std::optional<D>(a - b); });
    });
  }
};

struct Abs : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_values(c, c.type(0), [](const std::vector<D>& v) -> std::optional<D> {
      if (surely_at_least(v[0], 0)) return v[0];
      const auto n = known(v[0]);
      return n && *n > INT64_MIN ? std::optional<D>(-*n) : std::nullopt;
    });
  }
};

struct Sign : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_values(c, c.type(0), [](const std::vector<D>& v) -> std::optional<D> {
      if (surely_at_least(v[0], 1)) return D(1);
      const auto n = known(v[0]);
      return n ? std::optional<D>(*n < 0 ? -1 : 0) : std::nullopt;
    });
  }
};

struct Not : SameShape {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    SameShape::shape(c);
    propagate_values(c, DataType::boolean, [](const std::vector<D>& v) -> std::optional<D> {
      const auto n = known(v[0]);
      return n ? std::optional<D>(*n == 0 ? 1 : 0) : std::nullopt;
    });
  }
};

}  // namespace lathe
