#include "io/bounded_json.h"

#include "io/stored_tensor.h"

namespace lathe {
namespace {

constexpr size_t max_depth = 64;

}  // namespace

Json parse_bounded_json(std::string_view text, const std::filesystem::path& origin, uint64_t max_bytes,
                        Json::RealReader reader) {
  if (text.size() > max_bytes)
    throw checkpoint_error(Code::wire_too_large, origin, {},
                           "at most " + std::to_string(max_bytes) + " bytes of JSON",
                           std::to_string(text.size()));
  try {
    Json j = Json::parse(text, max_depth, reader);
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

Json parse_bounded_json(const std::filesystem::path& path) {
  return parse_bounded_json(read_file(open_regular(path), path)->view(), path);
}

}  // namespace lathe
