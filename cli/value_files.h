// Inputs and outputs in files: one value a file, found by name in a directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::cli {

/// The file in `dir` for a value: NAME.npy, NAME.json or NAME.pb, with PREFIX_ before it where one is asked
/// for; characters of a name that files do not have are written as _. Else ROLE_INDEX.pb (input_0.pb), as
/// ONNX's own test data have it, or the same as .npy or .json; outputs may be called expected_INDEX too.
/// Nothing where none exists.
std::optional<std::filesystem::path> find_value(const std::filesystem::path& dir, const std::string& prefix,
                                                const IoInfo& io, const char* role, size_t index);

/// Any of these; the declared type tells what a .pb holds.
Value read_value(const std::filesystem::path& file, const IoInfo& io);

/// Writes NAME.npy, or NAME.json for what .npy cannot hold; returns the path.
std::filesystem::path write_value(const std::filesystem::path& dir, std::string_view name, const Value& v);

}  // namespace lathe::cli
