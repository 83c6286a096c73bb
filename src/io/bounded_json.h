// JSON from files of others: of bounded size and depth.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lathe {

/// An object. Throws json_malformed (no object, nesting beyond 64), wire_too_large (beyond 16 MiB).
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::filesystem::path& origin);
/// The same with keys in the order of the alphabet: made for objects of many keys.
nlohmann::json parse_bounded_sorted_json(std::string_view text, const std::filesystem::path& origin);
/// Those of a file too: file_not_found, file_not_regular, file_unreadable.
nlohmann::ordered_json parse_bounded_json(const std::filesystem::path& path);

}  // namespace lathe
