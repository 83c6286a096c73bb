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

/// An integer expression over named sizes: a polynomial with integer coefficients over atoms, which are
/// symbols or floor(a/b), min, max, broadcast of expressions (mod(a,b) is a - b*floor(a/b)). Sums and
/// products are normalized, so that `==` decides equality of polynomials: `2*(seq + past) == past*2 + seq*2`.
/// Immutable, cheap to copy, thread-safe; constants allocate nothing. Sizes are assumed to be non-negative.
/// Arithmetic that overflows 63 bits throws Code::tensor_bad_shape.
class LATHE_API Dim {
 public:
  /// Makes a constant.
  Dim(int64_t value = 0) : constant_(value) {}  // NOLINT: a number is a dimension
  /// Makes a symbol, the same wherever it has the same name.
  static Dim symbol(std::string_view name);
  /// Makes a size of which nothing is known: it equals itself only, and prints as "?7".
  static Dim unknown();
  /// Reads what str() prints: "4*batch", "past + seq", "floor(n/2) + 1", "max(a, b)". Throws
  /// Code::text_syntax.
  static Dim parse(std::string_view text);

  /// Returns whether it is a number.
  bool is_constant() const { return !terms_; }
  /// Returns the number; only valid where is_constant().
  int64_t constant() const { return constant_; }
  /// Returns the number, or nothing where it is not constant.
  std::optional<int64_t> value() const { return terms_ ? std::nullopt : std::optional<int64_t>(constant_); }
  /// Returns whether some part of it is an unknown().
  bool has_unknown() const;
  /// Returns the name where it is a single symbol (unknowns included), otherwise nothing.
  std::optional<std::string> symbol_name() const;
  /// Returns the names of all symbols, sorted, each once.
  std::vector<std::string> symbols() const;

  /// Returns the sum in normal form.
  friend LATHE_API Dim operator+(const Dim& a, const Dim& b);
  /// Returns the difference in normal form.
  friend LATHE_API Dim operator-(const Dim& a, const Dim& b);
  /// Returns the product in normal form.
  friend LATHE_API Dim operator*(const Dim& a, const Dim& b);
  /// Returns the negated expression.
  Dim operator-() const { return Dim(0) - *this; }
  /// Returns whether the normal forms are equal.
  friend LATHE_API bool operator==(const Dim& a, const Dim& b);

  /// Orders expressions for containers, without meaning: negative, 0 or positive.
  static LATHE_API int compare(const Dim& a, const Dim& b);

  /// Computes the number for the given sizes; nothing where a symbol is missing or a division by zero occurs.
  std::optional<int64_t> evaluate(const std::map<std::string, int64_t, std::less<>>& sizes) const;
  std::optional<int64_t> evaluate(
      const std::function<std::optional<int64_t>(std::string_view)>& size_of) const;
  /// Returns the expression with symbols replaced by expressions.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& by) const;
  /// Returns the text that parse() reads.
  std::string str() const;

  struct Terms;  // the normal form, private to dim.cc
  /// Returns the normal form, for the library's own use; null for a constant.
  const Terms* terms() const { return terms_.get(); }

 private:
  friend struct DimAccess;
  int64_t constant_ = 0;
  std::shared_ptr<const Terms> terms_;  // null: a constant
};

/// Returns a / b rounded towards minus infinity; exact division of polynomials is carried out where possible.
/// Throws Code::tensor_bad_shape for a constant divisor of 0.
LATHE_API Dim floor_div(const Dim& a, const Dim& b);
/// Returns a / b rounded towards plus infinity, as floor_div does.
LATHE_API Dim ceil_div(const Dim& a, const Dim& b);
/// Returns a - b * floor_div(a, b).
LATHE_API Dim mod(const Dim& a, const Dim& b);
/// Returns the smaller one.
LATHE_API Dim min(const Dim& a, const Dim& b);
/// Returns the larger one.
LATHE_API Dim max(const Dim& a, const Dim& b);
/// Returns the size of an axis after NumPy's broadcasting: equal sizes stay, and 1 gives way. Nothing where
/// two numbers contradict each other.
LATHE_API std::optional<Dim> broadcast(const Dim& a, const Dim& b);
/// Returns true only where a >= bound is proved for all non-negative sizes.
LATHE_API bool surely_at_least(const Dim& a, int64_t bound);

// The same functions for plain numbers, so that a shape rule is written once for both.
/// Returns a / b rounded towards minus infinity. Throws Code::tensor_bad_shape for b = 0 and for overflow.
LATHE_API int64_t floor_div(int64_t a, int64_t b);
/// Returns a / b rounded towards plus infinity. Throws as floor_div does.
LATHE_API int64_t ceil_div(int64_t a, int64_t b);
/// Returns a - b * floor_div(a, b). Throws as floor_div does.
LATHE_API int64_t mod(int64_t a, int64_t b);
/// Returns the smaller one.
inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
/// Returns the larger one.
inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
/// Returns the size of an axis after NumPy's broadcasting; nothing where the sizes contradict each other.
LATHE_API std::optional<int64_t> broadcast(int64_t a, int64_t b);
/// Returns whether a >= bound.
inline bool surely_at_least(int64_t a, int64_t bound) { return a >= bound; }
/// Returns the number where it is known.
inline std::optional<int64_t> known(const Dim& d) { return d.value(); }
inline std::optional<int64_t> known(int64_t d) { return d; }
/// Returns the size as text, as Dim::str() prints it.
inline std::string to_text(const Dim& d) { return d.str(); }
inline std::string to_text(int64_t d) { return std::to_string(d); }

using SymShape = std::vector<Dim>;  // the sizes of a tensor's axes as expressions, outermost first
/// Returns the shape as text: "[batch, 3, 224]".
LATHE_API std::string describe(const SymShape& s);

}  // namespace lathe
