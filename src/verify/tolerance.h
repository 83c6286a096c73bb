// How far a result may be from the reference's: by the element type of the output. docs/internals/verify.md
// documents it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lathe/value.h"

namespace lathe {

/// |got - want| <= relative * |want| + of_largest * (the largest finite |want| of the tensor) + floor.
struct Tolerance {
  double relative = 0, of_largest = 0;
  double floor = 0;  // of what may be lost where numbers are too small to be normal
};
/// Returns the tolerance of a type; all zero for types that must be equal: integers, booleans, strings.
Tolerance tolerance_of(DataType type);

struct Difference {
  bool within = true;
  /// Largest |got - want|: of floats divided by the tensor's largest |want|, of others as it is. Infinite if
  /// kinds, types or shapes differ, or if only one of two elements is finite.
  double largest = 0;
  std::string expected, got;  // the first element beyond the tolerance: "y[0, 3] = 0.5", "0.25"
  /// Tolerances for that tensor, as compare() in lathe/values.h takes them.
  double atol = 0, rtol = 0;
};

/// Which floats are compared with the reference's.
enum class Held : uint8_t {
  all,     // NaN agrees with NaN, an infinity with itself
  finite,  // but not what the reference gives as NaN or an infinity
  none,    // types and shapes alone are
};

/// `slack`: by output, an absolute tolerance besides; empty: none.
Difference tolerance_difference(std::span<const Value> got, std::span<const Value> want,
                                std::span<const std::string> names, Held held,
                                std::span<const double> slack = {});

/// The difference of a float32 tensor: elements may be as far from finite ones of the reference as `bounds`
/// says (see sums.h).
Difference bounds_difference(const Tensor& got, const Tensor& want, const std::string& name,
                             std::span<const double> bounds);

/// Returns whether the values, and everything inside them, are equal bit by bit.
bool identical(std::span<const Value> a, std::span<const Value> b);

}  // namespace lathe
