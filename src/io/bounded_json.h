// JSON from files of others: of bounded size and depth.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/json.h"

namespace lathe {

/// Parses an object. Throws json_malformed (no object, nesting beyond 64), wire_too_large (beyond
/// `max_bytes`). `reader`: as Json::parse() has it.
Json parse_bounded_json(std::string_view text, const std::filesystem::path& origin,
                        uint64_t max_bytes = uint64_t{16} << 20, Json::RealReader reader = nullptr);
/// Parses a file. Also throws file_not_found, file_not_regular, file_unreadable.
Json parse_bounded_json(const std::filesystem::path& path);

}  // namespace lathe
