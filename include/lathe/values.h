// Values outside of a run: compared, summarised, made up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lathe/export.h"
#include "lathe/value.h"

namespace lathe {

/// How far `got` is from `want`. Floats and complex numbers: |got - want| <= atol + rtol * |want|, NaN equals
/// NaN and an infinity itself; everything else must be equal, types and shapes too. Sequences and maps are
/// compared element by element.
struct Comparison {
  bool equal = false;
  double max_absolute = 0;  // over pairs of finite elements
  double max_relative = 0;  // of the difference to |want|, where that is not zero
  int64_t differing = 0;    // elements out of tolerance
  std::string reason;       // of a mismatch: "element [0, 3]: 0.5, expected 0.25"
};
LATHE_API Comparison compare(const Value& got, const Value& want, double atol, double rtol);

/// The numbers people look at first; booleans count as 0 and 1.
struct Statistics {
  double min = 0, max = 0, mean = 0;
  int64_t nans = 0, infinities = 0;  // left out of the three above
};
/// Nothing for strings, complex numbers and tensors without elements.
LATHE_API std::optional<Statistics> statistics(const Tensor& t);
/// The first `count` elements as people write them: "0.25", "-3", "true", "cat", "1+2i".
LATHE_API std::vector<std::string> first_elements(const Tensor& t, size_t count);

/// Made up from a seed, the same on every machine: floats in [-1, 1), integers and booleans 0 or 1, strings
/// empty. Throws Code::not_supported for element types that are none of these.
LATHE_API Tensor random_tensor(DataType type, const Shape& shape, uint64_t seed);

}  // namespace lathe
