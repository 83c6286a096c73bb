// The header of a .npy file.
#pragma once

#include <string_view>

#include "lathe/tensor.h"

namespace lathe {

/// Returns whether this is a type of numbers that NumPy does not have itself (bfloat16, float8, int4, …).
bool is_missing_in_numpy(DataType t);

struct NpyLayout {
  DataType type = DataType::undefined;
  Shape shape;
  size_t start = 0;    // of the elements
  size_t element = 0;  // bytes of one in the file
  bool plain = false;  // row-major, as this machine has them in memory
};

/// The longest prefix of a file that read_npy_layout looks at.
constexpr size_t longest_npy_header = size_t{1} << 20;
/// Reads the header from a file's beginning and checks that `size` bytes, those of the whole file, are enough
/// for its elements. Throws npy_malformed, tensor_bad_shape.
NpyLayout read_npy_layout(std::string_view beginning, uint64_t size);

}  // namespace lathe
