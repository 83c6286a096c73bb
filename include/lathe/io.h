// Tensors and other values in files: NumPy's .npy, and JSON for what .npy cannot hold.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lathe/export.h"
#include "lathe/value.h"

namespace lathe {

/// Reads a .npy file (versions 1 to 3, little or big endian, C or Fortran order; floats, integers, bool,
/// complex, unicode and byte strings). The tensor owns its memory. `wanted`: a type that NumPy may not have
/// (bfloat16, float8, int4, …); what save_npy writes it as is taken for it then, where all numbers are ones
/// that it has, and so are the bytes without a meaning ('V2', 'V1') that ml_dtypes' arrays are saved as,
/// which are refused otherwise. Throws npy_malformed, file_not_found, file_unreadable.
LATHE_API Tensor load_npy(const std::filesystem::path& path, DataType wanted = DataType::undefined);
LATHE_API Tensor parse_npy(std::string_view bytes, DataType wanted = DataType::undefined);
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

/// Writes a file as all others are written: beside the target, then renamed. Throws file_write_failed.
LATHE_API void save_text(const std::filesystem::path& path, std::string_view text);

/// By the file's ending: .npy (see load_npy), .json, or .pb (TensorProto).
LATHE_API Value load_value(const std::filesystem::path& path, DataType wanted = DataType::undefined);

}  // namespace lathe
