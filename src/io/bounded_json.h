// JSON from files of others: of bounded size and depth.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lathe {

/// Returns whether objects and lists of a text of JSON are nested deeper than `levels`. The text need not be
/// JSON. Callers check this before they parse, because nlohmann's parser with a callback, which could check
/// it, visits all earlier objects of a list at the end of each.
bool nests_deeper(std::string_view text, int levels);

/// An object. Throws json_malformed (no object, nesting beyond 64), wire_too_large (beyond 16 MiB).
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::filesystem::path& origin);
/// The same with sorted keys, for objects of many keys: those above are searched one by one.
nlohmann::json parse_bounded_sorted_json(std::string_view text, const std::filesystem::path& origin);
/// Those of a file too: file_not_found, file_not_regular, file_unreadable.
nlohmann::ordered_json parse_bounded_json(const std::filesystem::path& path);
nlohmann::json parse_bounded_sorted_json(const std::filesystem::path& path);

}  // namespace lathe
