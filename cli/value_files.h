// Inputs and outputs in files: one value a file, found by name in a directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::cli {

/// Names of values as files have them: characters that these do not have become _, or where two names would
/// be one, %2F in all but one of them.
std::vector<std::string> file_names(const std::vector<std::string>& names);

/// Returns the file in `dir` for a value: NAME.npy, NAME.json or NAME.pb, after PREFIX_ if that is given; or
/// its name by file_names(). Else ROLE_INDEX.pb (input_0.pb), as in ONNX's own test data, or the same as .npy
/// or .json; outputs may be called expected_INDEX too. Nothing if none exists.
std::optional<std::filesystem::path> find_value(const std::filesystem::path& dir, const std::string& prefix,
                                                const IoInfo& io, const char* role, size_t index);

/// Any of these; the declared type tells what a .pb holds.
Value read_value(const std::filesystem::path& file, const IoInfo& io);

/// Writes FILE.npy, or FILE.json for what .npy cannot hold; returns the path.
std::filesystem::path write_value(const std::filesystem::path& dir, const std::string& file, const Value& v);

}  // namespace lathe::cli
