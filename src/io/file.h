// Whole files, read and written.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// Returns all bytes of a regular file. Throws file_not_found, file_not_regular, file_unreadable.
std::string read_file(const std::filesystem::path& path);
/// Writes the pieces beside the target and renames: nothing half-written is left. Throws file_write_failed.
void write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);
inline void write_file(const std::filesystem::path& path, std::initializer_list<std::string_view> pieces) {
  write_file(path, std::span(pieces.begin(), pieces.size()));
}

}  // namespace lathe
