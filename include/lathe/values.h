// Functions of values outside of a run: comparison, statistics, synthetic values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lathe/export.h"
#include "lathe/value.h"

namespace lathe {

/// The result of compare().
struct Comparison {
  bool equal = false;       // no element is out of tolerance, and types and shapes are equal
  double max_absolute = 0;  // largest |got - want| over pairs of finite elements
  double max_relative = 0;  // largest |got - want| / |want| where want is not zero
  int64_t differing = 0;    // number of elements out of tolerance
  std::string reason;       // first mismatch: "element [0, 3]: 0.5, expected 0.25"
};
/// Compares two values. Floats and complex numbers are equal where |got - want| <= atol + rtol * |want|; NaN
/// equals NaN, and an infinity itself. Everything else must be the same, types and shapes too. Sequences and
/// maps are compared element by element.
LATHE_API Comparison compare(const Value& got, const Value& want, double atol, double rtol);

/// The numbers that people look at first; booleans count as 0 and 1.
struct Statistics {
  double min = 0, max = 0, mean = 0;  // over the finite elements
  int64_t nans = 0, infinities = 0;   // number of elements left out of the three above
};
/// Returns the statistics; nothing for strings, complex numbers and tensors without elements.
LATHE_API std::optional<Statistics> statistics(const Tensor& t);
/// Returns the first `count` elements as people write them: "0.25", "-3", "true", "cat", "1+2i".
LATHE_API std::vector<std::string> first_elements(const Tensor& t, size_t count);

/// Returns random elements that are the same for a seed on every machine: floats in [-1, 1), integers and
/// booleans 0 or 1, strings empty. Throws Code::not_supported for other element types.
LATHE_API Tensor random_tensor(DataType type, const Shape& shape, uint64_t seed);

}  // namespace lathe
