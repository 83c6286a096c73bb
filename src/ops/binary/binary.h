// Functions of two elements that broadcast, and Max, Min, Mean and Sum of any number of them.
#pragma once

#include <string>

#include "ops/elementwise/elementwise.h"
#include "tensor/element.h"

namespace lathe {

struct Pow : Broadcasting {};
struct BitwiseAnd : Broadcasting {};
struct BitwiseOr : Broadcasting {};
struct BitwiseXor : Broadcasting {};
struct Mean : Broadcasting {};
struct Sum : Broadcasting {};

struct BitShift : Broadcasting {
  std::string direction;
  void fields(auto&& f) { f("direction", direction); }
  bool to_left() const { return direction == "LEFT"; }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (direction != "LEFT" && direction != "RIGHT")
      c.fail(Code::node_bad_attribute, "direction to be LEFT or RIGHT", "'" + direction + "'", {});
    Broadcasting::shape(c);
  }
};

struct Add : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_binary(c, c.type(0), [](const std::vector<D>& v) {
      return try_arithmetic(
          v[0], v[1], [](int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); },
          [](const D& a, const D& b) { return std::optional<D>(a + b); });
    });
  }
};

struct Sub : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_binary(c, c.type(0), [](const std::vector<D>& v) {
      return try_arithmetic(
          v[0], v[1], [](int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); },
          [](const D& a, const D& b) { return std::optional<D>(a - b); });
    });
  }
};

struct Mul : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_binary(c, c.type(0), [](const std::vector<D>& v) {
      return try_arithmetic(
          v[0], v[1], [](int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); },
          [](const D& a, const D& b) { return std::optional<D>(a * b); });
    });
  }
};

/// Integers are divided towards zero; quotients of floats are followed if they are integers.
struct Div : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    const bool exact = is_float(c.type(0));
    propagate_binary(c, c.type(0), [exact](const std::vector<D>& v) {
      return try_arithmetic(
          v[0], v[1],
          [exact](int64_t a, int64_t b, int64_t* r) {
            if (b == 0 || (a == INT64_MIN && b == -1) || (exact && a % b != 0)) return true;
            *r = a / b;
            return false;
          },
          [exact](const D& a, const D& b) -> std::optional<D> {
            // If both are not negative, division towards zero rounds down.
            if (!surely_at_least(a, 0) || !surely_at_least(b, 1)) return std::nullopt;
            const D quotient = floor_div(a, b);
            if (exact && !(quotient * b == a)) return std::nullopt;
            return quotient;
          });
    });
  }
};

struct Mod : Broadcasting {
  bool fmod = false;  // the sign is that of the dividend, else of the divisor
  void fields(auto&& f) { f("fmod", fmod); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_binary(c, c.type(0), [](const std::vector<D>& v) {
      return try_arithmetic(
          v[0], v[1],
          [](int64_t a, int64_t b, int64_t* r) {
            if (a < 0 || b <= 0) return true;
            *r = a % b;
            return false;
          },
          [](const D& a, const D& b) {
            return surely_at_least(a, 0) && surely_at_least(b, 1) ? std::optional<D>(mod(a, b))
                                                                  : std::nullopt;
          });
    });
  }
};

template <bool greatest>
struct Extreme : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_values(c, c.type(0), [](const std::vector<D>& v) {
      D r = v[0];
      for (const D& d : v) r = greatest ? max(r, d) : min(r, d);
      return std::optional<D>(r);
    });
  }
};
struct Max : Extreme<true> {};
struct Min : Extreme<false> {};

/// -1, 0 or 1 as `a` is provably less than, equal to or greater than `b`.
template <class D>
std::optional<int> compare_values(const D& a, const D& b) {
  const auto x = known(a), y = known(b);
  if (x && y) return *x < *y ? -1 : *x > *y;
  if constexpr (!std::is_same_v<D, int64_t>) {
    if (a == b) return 0;
    try {
      if (surely_at_least(a - b, 1)) return 1;
      if (surely_at_least(b - a, 1)) return -1;
    } catch (const Error&) {  // the difference does not fit
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Compares two constants of one float each; returns false for other inputs.
template <class D>
bool compare_constants(ShapeContext<D>& c, bool (*holds_for)(int order)) {
  const Tensor *a = c.constant(0), *b = c.constant(1);
  if (!a || !b || !is_float(a->type()) || !is_float(b->type()) || a->size() != 1 || b->size() != 1)
    return false;
  const double x = load_double(*a, 0), y = load_double(*b, 0);
  const bool ordered = x == x && y == y;
  c.output_values(0, {D(ordered && holds_for(x < y ? -1 : x > y) ? 1 : 0)});
  return true;
}

/// Equal, Greater, …: `holds_for` returns whether an order makes the output true.
template <class D>
void propagate_comparison(ShapeContext<D>& c, bool (*holds_for)(int order)) {
  if (compare_constants(c, holds_for)) return;
  propagate_binary(c, DataType::boolean, [&](const std::vector<D>& v) -> std::optional<D> {
    const auto order = compare_values(v[0], v[1]);
    return order ? std::optional<D>(holds_for(*order) ? 1 : 0) : std::nullopt;
  });
}

struct Equal : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_comparison(c, [](int order) { return order == 0; });
  }
};
struct Greater : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_comparison(c, [](int order) { return order > 0; });
  }
};
struct GreaterOrEqual : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_comparison(c, [](int order) { return order >= 0; });
  }
};
struct Less : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_comparison(c, [](int order) { return order < 0; });
  }
};
struct LessOrEqual : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_comparison(c, [](int order) { return order <= 0; });
  }
};

/// And, Or, Xor of bools that are known.
template <class D>
void propagate_logic(ShapeContext<D>& c, bool (*f)(bool, bool)) {
  propagate_binary(c, DataType::boolean, [&](const std::vector<D>& v) -> std::optional<D> {
    const auto a = known(v[0]), b = known(v[1]);
    return a && b ? std::optional<D>(f(*a != 0, *b != 0) ? 1 : 0) : std::nullopt;
  });
}

/// If all elements of one operand are `truth`, so is the result, whatever the other one is: `out` is the
/// shape of the result.
template <class D>
void propagate_decided(ShapeContext<D>& c, const std::vector<D>& out, bool truth) {
  const auto count = known(c.product(out));
  if (!count || *count > max_tracked_values) return;
  for (size_t i = 0; i < 2; ++i) {
    const auto* v = c.values(i);
    if (v && !v->empty() && std::all_of(v->begin(), v->end(), [&](const D& d) {
          const auto n = known(d);
          return n && (*n != 0) == truth;
        }))
      return c.output_values(0, std::vector<D>(static_cast<size_t>(*count), D(truth ? 1 : 0)));
  }
}

/// And, Or: an operand that is `decides` determines the result alone.
template <class D>
void shape_of_logic(ShapeContext<D>& c, bool (*f)(bool, bool), bool decides) {
  std::vector<D> out = c.shape(0);
  for (size_t i = 1; i < c.inputs(); ++i) out = c.broadcast_pair(out, c.shape(i));
  propagate_decided(c, out, decides);
  propagate_logic(c, f);
  c.output(0, std::move(out));
}

struct And : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    shape_of_logic(
        c, [](bool a, bool b) { return a && b; }, false);
  }
};
struct Or : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    shape_of_logic(
        c, [](bool a, bool b) { return a || b; }, true);
  }
};
struct Xor : Broadcasting {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    Broadcasting::shape(c);
    propagate_logic(c, [](bool a, bool b) { return a != b; });
  }
};

}  // namespace lathe
