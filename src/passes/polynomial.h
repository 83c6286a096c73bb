// Expressions as polynomials, whatever the order in which exporters add and multiply.
#pragma once

#include <array>

#include "passes/patterns.h"

namespace lathe {

/// Sum of c[i][j] * x^i * f^j, where x is a value of the graph and f mostly a function of it.
struct Polynomial {
  static constexpr size_t x_powers = 4, f_powers = 2;
  std::array<std::array<double, f_powers>, x_powers> c{};

  static Polynomial number(double n) {
    Polynomial p;
    p.c[0][0] = n;
    return p;
  }
  bool is_number() const { return *this == number(c[0][0]); }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

  Polynomial& operator+=(const Polynomial& o) {
    for (size_t i = 0; i < x_powers; ++i)
      for (size_t j = 0; j < f_powers; ++j) c[i][j] += o.c[i][j];
    return *this;
  }
  /// Returns nothing if the product has powers that are too high.
  static std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    Polynomial p;
    for (size_t i = 0; i < x_powers; ++i)
      for (size_t j = 0; j < f_powers; ++j)
        for (size_t k = 0; k < x_powers; ++k)
          for (size_t l = 0; l < f_powers; ++l) {
            const double term = a.c[i][j] * b.c[k][l];
            if (term == 0) continue;
            if (i + k >= x_powers || j + l >= f_powers) return std::nullopt;
            p.c[i + k][j + l] += term;
          }
    return p;
  }
  /// Returns whether the numbers are the same but for their rounding to elements of this type.
  bool is_about(const Polynomial& want, DataType type) const {
    for (size_t i = 0; i < x_powers; ++i)
      for (size_t j = 0; j < f_powers; ++j)
        if (!about(c[i][j], want.c[i][j], rounding_of(type))) return false;
    return true;
  }
};

/// Reads expressions of x and f.
class PolynomialReader {
 public:
  PolynomialReader(const View& view, ValueId x, ValueId f = no_id) : view_(view), x_(x), f_(f) {}

  /// Returns nothing if `v` is not a polynomial of the two, or is a long one.
  std::optional<Polynomial> read(ValueId v) {
    steps_ = 16;
    return expand(v);
  }

 private:
  std::optional<Polynomial> expand(ValueId v) {
    Polynomial p;
    if (v == x_ || v == f_) {
      (v == x_ ? p.c[1][0] : p.c[0][1]) = 1;
      return p;
    }
    if (const auto number = view_.uniform(v)) return Polynomial::number(*number);
    const NodeId at = view_.producer(v);
    if (at == no_id || --steps_ < 0) return std::nullopt;
    const Node& n = view_.node(at);
    if (View::is(n, "Add") || View::is(n, "Sum") || View::is(n, "Sub")) {
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        auto term = expand(n.inputs[i]);
        if (term && i > 0 && n.op == "Sub") term = Polynomial::product(*term, Polynomial::number(-1));
        if (!term) return std::nullopt;
        p += *term;
      }
      return p;
    }
    if (View::is(n, "Neg")) return times(n.inputs[0], Polynomial::number(-1));
    if (View::is(n, "Mul")) {
      const auto first = expand(n.inputs[0]);
      return first ? times(n.inputs[1], *first) : std::nullopt;
    }
    if (View::is(n, "Div")) {
      const auto by = view_.uniform(n.inputs[1]);
      return by && *by != 0 ? times(n.inputs[0], Polynomial::number(1 / *by)) : std::nullopt;
    }
    if (View::is(n, "Pow")) {
      const auto power = view_.uniform(n.inputs[1]);
      auto product = power == 2.0 || power == 3.0 ? expand(n.inputs[0]) : std::nullopt;
      const auto base = product;
      for (int i = 1; product && i < *power; ++i) product = Polynomial::product(*product, *base);
      return product;
    }
    return std::nullopt;
  }
  std::optional<Polynomial> times(ValueId v, const Polynomial& by) {
    const auto p = expand(v);
    return p ? Polynomial::product(*p, by) : std::nullopt;
  }

  const View& view_;
  ValueId x_, f_;
  int steps_ = 0;
};

/// Returns the values that the expression `v` consists of, and itself, the nearest first: candidates for x.
inline std::vector<ValueId> parts_of_expression(const View& view, ValueId v) {
  constexpr size_t most = 12;
  std::vector<ValueId> parts{v};
  for (size_t i = 0; i < parts.size() && parts.size() < most; ++i) {
    const NodeId at = view.producer(parts[i]);
    if (at == no_id) continue;
    const Node& n = view.node(at);
    bool arithmetic = false;
    for (const char* op : {"Add", "Sum", "Sub", "Mul", "Div", "Neg", "Pow"})
      arithmetic = arithmetic || View::is(n, op);
    for (ValueId input : arithmetic ? n.inputs : Operands())
      if (!view.is_constant(input) && std::ranges::find(parts, input) == parts.end()) parts.push_back(input);
  }
  return parts;
}

}  // namespace lathe
