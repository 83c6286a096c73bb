#include "exporters/sentence.h"

#include <nlohmann/json.hpp>

#include "base/error_about.h"
#include "base/file.h"
#include "io/bounded_json.h"

namespace lathe::exporters {
namespace {

namespace fs = std::filesystem;

/// What a list that somebody else wrote says of a module, or an error that names the file.
std::string text_of(const nlohmann::ordered_json& entry, const char* key, const fs::path& file) {
  if (entry.is_object() && entry.contains(key) && entry[key].is_string())
    return entry[key].get<std::string>();
  throw error_about(Code::bad_argument, "export", file.string(),
                    std::string("modules that say their '") + key + "'", "one that does not");
}

/// In the checkpoint, not beside it.
fs::path folder_of(const fs::path& checkpoint, const std::string& path, const fs::path& file) {
  const fs::path relative = fs::path(path).lexically_normal();
  if (relative.is_absolute() || (!relative.empty() && *relative.begin() == ".."))
    throw error_about(Code::bad_argument, "export", file.string(), "folders of the checkpoint",
                      "'" + path + "'");
  return checkpoint / relative;
}

ModelConfig config_in(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "config.json", ignored) ? ModelConfig::open(folder)
                                                              : ModelConfig::parse("{}");
}

}  // namespace

std::vector<nn::SentenceModule> sentence_modules(const fs::path& checkpoint) {
  const fs::path file = checkpoint / "modules.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    return {{"Pooling", {}, ModelConfig::parse(R"({"pooling_mode_mean_tokens": true})")}};
  // A list is no object, which is what parses within bounds.
  const auto json = parse_bounded_json(
      "{\"modules\": " + std::string(read_file(open_regular(file), file)->view()) + "}", file);
  const auto& list = json["modules"];
  if (!list.is_array() || list.empty())
    throw error_about(Code::bad_argument, "export", file.string(), "a list of modules", "none");
  std::vector<nn::SentenceModule> modules;
  for (const auto& entry : list) {
    const std::string type = text_of(entry, "type", file), path = text_of(entry, "path", file);
    const fs::path folder = folder_of(checkpoint, path, file);
    if (&entry == &list.front()) {
      if (!type.ends_with("Transformer") || !path.empty())
        throw error_about(Code::not_supported, "export", file.string(),
                          "a Transformer in the checkpoint's own folder first",
                          "'" + type + "' in '" + path + "'");
      continue;
    }
    modules.push_back({type, path, config_in(folder)});
  }
  return modules;
}

}  // namespace lathe::exporters
