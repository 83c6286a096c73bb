// Tensors and other values in files: NumPy's .npy, and JSON for what .npy cannot hold.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lathe/export.h"
#include "lathe/value.h"

namespace lathe {

/// Reads a .npy file (versions 1 to 3, little or big endian, C or Fortran order; floats, integers, bool,
/// complex, unicode and byte strings; ml_dtypes' bfloat16 and float8 as the void types NumPy writes them as
/// are refused). The tensor owns its memory. Throws npy_malformed, file_not_found, file_unreadable.
LATHE_API Tensor load_npy(const std::filesystem::path& path);
LATHE_API Tensor parse_npy(std::string_view bytes);
/// Writes version 1.0, C order, beside the target and renames. Types NumPy does not have (bfloat16, float8,
/// int4, …) are written as float32 (floats) or int8/uint8. Throws file_write_failed.
LATHE_API void save_npy(const std::filesystem::path& path, const Tensor& t);

/// The tensor of a .npy file, or of any file that Checkpoint::open takes (lathe/checkpoint.h), mapped where
/// its bytes are the elements. `name`: which one, where there are several. Throws bad_argument without a name
/// for a file of none or several, or for a name that is not there; what Checkpoint::open throws.
LATHE_API Tensor from_file(const std::filesystem::path& path, std::string_view name = {});

/// Any value as JSON: {"type": "tensor", "dtype": "string", "shape": [2], "data": ["a", "b"]}, {"type":
/// "sequence", "items": […]},
/// {"type": "map", "key": "int64", "value": "float32", "keys": […], "values": […]}, {"type": "none"}. Numbers
/// that JSON lacks are the strings "nan", "inf", "-inf". Throws json_malformed.
LATHE_API Value parse_value_json(std::string_view text);
LATHE_API std::string to_json(const Value& v);

/// By the file's ending: .npy, .json, or .pb (TensorProto).
LATHE_API Value load_value(const std::filesystem::path& path);

}  // namespace lathe
