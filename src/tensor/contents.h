// The contents of small tensors as integers, for the arithmetic of sizes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "lathe/tensor.h"

namespace lathe {

/// Largest tensor whose contents are followed element by element through shape arithmetic.
inline constexpr int64_t max_tracked_values = 1024;
/// … of floats, which hold sizes only now and then: some exporters compute them so.
inline constexpr int64_t max_tracked_floats = 16;

/// All integers up to this are exact in that type of floats; 0 for types whose contents are not followed.
constexpr int64_t exact_integers(DataType t) {
  return t == DataType::float32 ? int64_t{1} << 24 : t == DataType::float64 ? int64_t{1} << 53 : 0;
}
constexpr bool is_tracked(DataType t) {
  return is_integer(t) || t == DataType::boolean || exact_integers(t) > 0;
}

/// The elements; false where one is no integer or does not fit, for types that are not followed, and beyond
/// max_tracked_values.
bool read_integers(const Tensor& t, std::vector<int64_t>& out);

}  // namespace lathe
