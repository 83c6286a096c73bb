// Writing weights as safetensors files; lathe/checkpoint.h reads them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

/// Returns whether the format has the type; all but strings, complex128 and types of less than 8 bits.
LATHE_API bool safetensors_can_hold(DataType type);

/// Writes the tensors in this order, from the memory that they have, beside the target and renames the file.
/// Throws not_supported for a type that safetensors_can_hold() denies, graph_duplicate_name for a name that
/// is given twice, bad_argument for "__metadata__", file_write_failed.
LATHE_API void save_safetensors(const std::filesystem::path& path,
                                const std::vector<std::pair<std::string, Tensor>>& tensors,
                                const std::map<std::string, std::string>& metadata = {});

}  // namespace lathe
