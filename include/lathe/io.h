// Reading and writing tensors and other values: NumPy's .npy, and JSON for what .npy cannot hold.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lathe/export.h"
#include "lathe/value.h"

namespace lathe {

/// Reads a .npy file (versions 1 to 3, little or big endian, C or Fortran order; floats, integers, bool,
/// complex, unicode and byte strings). The tensor owns its memory. `wanted` is a type that NumPy may lack
/// (bfloat16, float8, int4, …): the type that save_npy writes in its place is then converted to it where all
/// numbers can be represented, and so are the bytes without a meaning ('V2', 'V1') as which ml_dtypes' arrays
/// are saved and which are refused otherwise. Throws npy_malformed, file_not_found, file_unreadable.
LATHE_API Tensor load_npy(const std::filesystem::path& path, DataType wanted = DataType::undefined);
/// Reads the bytes of a .npy file as load_npy() reads a file.
LATHE_API Tensor parse_npy(std::string_view bytes, DataType wanted = DataType::undefined);
/// Writes a .npy file, version 1.0, in C order, beside the target and renames it. Types that NumPy lacks
/// (bfloat16, float8, int4, …) are written as float32 (floats) or int8 and uint8. Throws file_write_failed.
LATHE_API void save_npy(const std::filesystem::path& path, const Tensor& t);

/// Returns the tensor of a .npy file, or of any file that Checkpoint::open takes (lathe/checkpoint.h), mapped
/// where its bytes are the elements. `name` selects one where there are several. Throws bad_argument without
/// a name for a file of none or several tensors, or for a name that is not there, and what Checkpoint::open
/// throws.
LATHE_API Tensor from_file(const std::filesystem::path& path, std::string_view name = {});

/// Reads any value from JSON: {"type": "tensor", "dtype": "string", "shape": [2], "data": ["a", "b"]},
/// {"type": "sequence", "items": […]}, {"type": "map", "key": "int64", "value": "float32", "keys": […],
/// "values": […]}, {"type": "none"}. Numbers that JSON lacks are the strings "nan", "inf", "-inf". Throws
/// json_malformed.
LATHE_API Value parse_value_json(std::string_view text);
/// Returns the JSON that parse_value_json() reads.
LATHE_API std::string to_json(const Value& v);

/// Writes a text file beside the target and renames it. Throws file_write_failed.
LATHE_API void save_text(const std::filesystem::path& path, std::string_view text);

/// Reads a value from a file; its ending says how: .npy (load_npy), .json (parse_value_json) or .pb
/// (TensorProto). Throws bad_argument for another ending, and what these throw.
LATHE_API Value load_value(const std::filesystem::path& path, DataType wanted = DataType::undefined);

}  // namespace lathe
