// Symbolic dimensions: integer expressions over named sizes, kept in a normal form so that equal means equal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// An integer expression: a polynomial with integer coefficients over atoms; an atom is a symbol, or one of
/// floor(a/b), min, max, broadcast of expressions (mod(a,b) is a - b*floor(a/b)). Sums and products are
/// normalised, so `==` decides equality of polynomials: `2*(seq + past) == past*2 + seq*2`. Immutable, cheap
/// to copy, thread-safe to share. A constant allocates nothing. Sizes are assumed non-negative. Arithmetic
/// that overflows 63 bits throws Code::tensor_bad_shape.
class LATHE_API Dim {
 public:
  Dim(int64_t value = 0) : constant_(value) {}  // NOLINT: a number is a dimension
  static Dim symbol(std::string_view name);
  /// A size that nothing is known of: equal to itself only. Prints as "?7".
  static Dim unknown();
  /// Reads what str() prints: "4*batch", "past + seq", "floor(n/2) + 1", "max(a, b)". Throws
  /// Code::text_syntax.
  static Dim parse(std::string_view text);

  bool is_constant() const { return !terms_; }
  /// The number; only when is_constant().
  int64_t constant() const { return constant_; }
  std::optional<int64_t> value() const { return terms_ ? std::nullopt : std::optional<int64_t>(constant_); }
  /// True where some part of it is an `unknown()`.
  bool has_unknown() const;
  /// The name when it is a plain symbol (unknowns included), else nothing.
  std::optional<std::string> symbol_name() const;
  /// Names of all symbols, sorted, each once.
  std::vector<std::string> symbols() const;

  friend LATHE_API Dim operator+(const Dim& a, const Dim& b);
  friend LATHE_API Dim operator-(const Dim& a, const Dim& b);
  friend LATHE_API Dim operator*(const Dim& a, const Dim& b);
  Dim operator-() const { return Dim(0) - *this; }
  friend LATHE_API bool operator==(const Dim& a, const Dim& b);

  /// A total order for containers, without meaning.
  static LATHE_API int compare(const Dim& a, const Dim& b);

  /// Evaluates with the sizes given; nothing where a symbol is missing or a division by zero occurs.
  std::optional<int64_t> evaluate(const std::map<std::string, int64_t, std::less<>>& sizes) const;
  std::optional<int64_t> evaluate(
      const std::function<std::optional<int64_t>(std::string_view)>& size_of) const;
  /// Replaces symbols by expressions.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& by) const;
  std::string str() const;

  struct Terms;  // the normal form, private to dim.cc
  const Terms* terms() const { return terms_.get(); }

 private:
  friend struct DimAccess;
  int64_t constant_ = 0;
  std::shared_ptr<const Terms> terms_;  // null: a constant
};

/// Round towards minus infinity; exact polynomial division is carried out where it is possible.
LATHE_API Dim floor_div(const Dim& a, const Dim& b);
LATHE_API Dim ceil_div(const Dim& a, const Dim& b);
LATHE_API Dim mod(const Dim& a, const Dim& b);
LATHE_API Dim min(const Dim& a, const Dim& b);
LATHE_API Dim max(const Dim& a, const Dim& b);
/// NumPy's rule for one axis: equal sizes stay, 1 gives way. Nothing when two numbers contradict.
LATHE_API std::optional<Dim> broadcast(const Dim& a, const Dim& b);
/// What is provable: true only if it holds for all non-negative sizes.
LATHE_API bool surely_at_least(const Dim& a, int64_t bound);

// The same words for plain numbers, so that a shape rule is written once for both.
LATHE_API int64_t floor_div(int64_t a, int64_t b);
LATHE_API int64_t ceil_div(int64_t a, int64_t b);
LATHE_API int64_t mod(int64_t a, int64_t b);
inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
LATHE_API std::optional<int64_t> broadcast(int64_t a, int64_t b);
inline bool surely_at_least(int64_t a, int64_t bound) { return a >= bound; }
/// The number where it is known.
inline std::optional<int64_t> known(const Dim& d) { return d.value(); }
inline std::optional<int64_t> known(int64_t d) { return d; }
inline std::string to_text(const Dim& d) { return d.str(); }
inline std::string to_text(int64_t d) { return std::to_string(d); }

using SymShape = std::vector<Dim>;
/// "[batch, 3, 224]".
LATHE_API std::string describe(const SymShape& s);

}  // namespace lathe
