#include "io/bounded_json.h"

#include "io/stored_tensor.h"

namespace lathe {
namespace {

constexpr uint64_t longest = uint64_t{16} << 20;
constexpr size_t max_depth = 64;

Json parse(std::string_view text, const std::filesystem::path& origin, bool sorted) {
  if (text.size() > longest)
    throw checkpoint_error(Code::wire_too_large, origin, {},
                           "at most " + std::to_string(longest) + " bytes of JSON",
                           std::to_string(text.size()));
  try {
    Json j = Json::parse(text, {max_depth, sorted});
    if (!j.is_object())
      throw checkpoint_error(Code::json_malformed, origin, {}, "a JSON object", j.type_name());
    return j;
  } catch (const JsonFault& e) {
    if (e.too_deep())
      throw checkpoint_error(Code::json_malformed, origin, {},
                             "JSON nested at most " + std::to_string(max_depth) + " deep", "more");
    throw checkpoint_error(Code::json_malformed, origin, {}, "JSON", e.what());
  }
}

}  // namespace

Json parse_bounded_json(std::string_view text, const std::filesystem::path& origin) {
  return parse(text, origin, false);
}
Json parse_bounded_sorted_json(std::string_view text, const std::filesystem::path& origin) {
  return parse(text, origin, true);
}

Json parse_bounded_json(const std::filesystem::path& path) {
  return parse_bounded_json(read_file(open_regular(path), path)->view(), path);
}

}  // namespace lathe
