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
  const auto bounded = [&](int depth, typename Json::parse_event_t, Json&) {
    if (depth > deepest)
      throw checkpoint_error(Code::json_malformed, origin, {},
                             "JSON nested at most " + std::to_string(deepest) + " deep", "more");
    return true;
  };
  try {
    Json j = Json::parse(text, bounded);
    if (!j.is_object())
      throw checkpoint_error(Code::json_malformed, origin, {}, "a JSON object", j.type_name());
    return j;
  } catch (const typename Json::exception& e) {
    throw checkpoint_error(Code::json_malformed, origin, {}, "JSON", e.what());
  }
}

}  // namespace

ordered_json parse_bounded_json(std::string_view text, const std::filesystem::path& origin) {
  return parse<ordered_json>(text, origin);
}
nlohmann::json parse_bounded_sorted_json(std::string_view text, const std::filesystem::path& origin) {
  return parse<nlohmann::json>(text, origin);
}

ordered_json parse_bounded_json(const std::filesystem::path& path) {
  return parse_bounded_json(read_file(open_regular(path), path)->view(), path);
}

}  // namespace lathe
