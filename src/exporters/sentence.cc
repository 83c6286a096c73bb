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

/// The list of modules.json; null where there is no such file.
nlohmann::ordered_json modules_in(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return nullptr;
  // A list is no object, which is what parses within bounds.
  auto json = parse_bounded_json(
      "{\"modules\": " + std::string(read_file(open_regular(file), file)->view()) + "}", file);
  auto& list = json["modules"];
  if (!list.is_array() || list.empty())
    throw error_about(Code::bad_argument, "export", file.string(), "a list of modules", "none");
  return list;
}

/// sentence_bert_config.json, and what it is called for others, may say another configuration of the encoder.
void refuse_other_config(const fs::path& encoder) {
  std::error_code ignored;  // a folder that is not there is said by who reads its config.json
  for (const auto& entry : fs::directory_iterator(encoder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("sentence_") || !name.ends_with("_config.json")) continue;
    const auto config = ModelConfig::open(entry.path());
    if (config.has("config_args") && !config.get<ModelConfig>("config_args").keys().empty())
      throw error_about(Code::not_supported, "export", entry.path().string(),
                        "a configuration of the encoder in config.json alone",
                        "'config_args' with '" + config.get<ModelConfig>("config_args").keys()[0] + "'",
                        "say it in config.json");
  }
}

}  // namespace

SentenceCheckpoint sentence_checkpoint(const fs::path& checkpoint) {
  const fs::path file = checkpoint / "modules.json";
  const auto list = modules_in(file);
  SentenceCheckpoint all;
  all.encoder = checkpoint;
  if (list.is_null()) {
    refuse_other_config(checkpoint);
    all.modules.push_back({"Pooling", {}, ModelConfig::parse(R"({"word_embedding_dimension": 0})")});
    return all;
  }
  for (const auto& entry : list) {
    const std::string type = text_of(entry, "type", file), path = text_of(entry, "path", file);
    const fs::path folder = folder_of(checkpoint, path, file);
    if (&entry != &list.front()) {
      all.modules.push_back({type, path, config_in(folder)});
      continue;
    }
    all.clip = type.ends_with("CLIPModel");
    if (!all.clip && !type.ends_with("Transformer"))
      throw error_about(Code::not_supported, "export", file.string(), "a Transformer or CLIPModel first",
                        "'" + type + "'");
    if (!path.empty()) all.encoder = folder;
  }
  refuse_other_config(all.encoder);
  return all;
}

std::string exported_modules(const fs::path& checkpoint) {
  auto list = modules_in(checkpoint / "modules.json");
  if (list.is_null()) return {};
  list.front()["path"] = "";
  return list.dump(2) + "\n";
}

}  // namespace lathe::exporters
