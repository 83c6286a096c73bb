// How far a result may be from the reference's: by the element type of the output. docs/internals/verify.md
// tells it to people.
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
/// All zero for what must be equal: integers, booleans, strings.
Tolerance tolerance_of(DataType type);

struct Difference {
  bool within = true;
  /// Largest |got - want|: of floats in parts of the tensor's largest |want|, of others as it is. Infinite
  /// where kinds, types or shapes differ, or one of two is finite only.
  double largest = 0;
  std::string expected, got;  // the first element beyond the contract: "y[0, 3] = 0.5", "0.25"
  /// Of its tensor, as compare() in lathe/values.h wants them.
  double atol = 0, rtol = 0;
};

/// What floats are held against the reference's.
enum class Held : uint8_t {
  all,     // NaN agrees with NaN, an infinity with itself
  finite,  // but not what the reference gives as NaN or an infinity
  none,    // types and shapes alone are
};

/// `slack`: by output, what is allowed besides (absolutely); empty: nothing.
Difference contract_difference(std::span<const Value> got, std::span<const Value> want,
                               std::span<const std::string> names, Held held,
                               std::span<const double> slack = {});

/// Of a tensor of float32, element by element no farther from what the reference gives as a number than told
/// (see sums.h).
Difference bounds_difference(const Tensor& got, const Tensor& want, const std::string& name,
                             std::span<const double> bounds);

/// Of everything inside, bit by bit.
bool identical(std::span<const Value> a, std::span<const Value> b);

}  // namespace lathe
