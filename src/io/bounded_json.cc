#include "io/bounded_json.h"

#include <nlohmann/json.hpp>

#include "io/stored_tensor.h"

namespace lathe {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t longest = uint64_t{16} << 20;
constexpr int deepest = 64;

template <class Json>
Json parse(std::string_view text, const std::filesystem::path& origin) {
  if (text.size() > longest)
    throw checkpoint_error(Code::wire_too_large, origin, {},
                           "at most " + std::to_string(longest) + " bytes of JSON",
                           std::to_string(text.size()));
  if (nests_deeper(text, deepest))
    throw checkpoint_error(Code::json_malformed, origin, {},
                           "JSON nested at most " + std::to_string(deepest) + " deep", "more");
  try {
    Json j = Json::parse(text);
    if (!j.is_object())
      throw checkpoint_error(Code::json_malformed, origin, {}, "a JSON object", j.type_name());
    return j;
  } catch (const typename Json::exception& e) {
    throw checkpoint_error(Code::json_malformed, origin, {}, "JSON", e.what());
  }
}

}  // namespace

bool nests_deeper(std::string_view text, int levels) {
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '{' || c == '[') {
      if (++open > levels) return true;
    } else if (c == '}' || c == ']') {
      --open;
    }
  }
  return false;
}

ordered_json parse_bounded_json(std::string_view text, const std::filesystem::path& origin) {
  return parse<ordered_json>(text, origin);
}
nlohmann::json parse_bounded_sorted_json(std::string_view text, const std::filesystem::path& origin) {
  return parse<nlohmann::json>(text, origin);
}

ordered_json parse_bounded_json(const std::filesystem::path& path) {
  return parse_bounded_json(read_file(open_regular(path), path)->view(), path);
}
nlohmann::json parse_bounded_sorted_json(const std::filesystem::path& path) {
  return parse_bounded_sorted_json(read_file(open_regular(path), path)->view(), path);
}

}  // namespace lathe
