#include "exporters/sentence.h"

#include "base/error_about.h"
#include "base/file.h"
#include "io/bounded_json.h"

namespace lathe::exporters {
namespace {

namespace fs = std::filesystem;

/// Returns the value of a module's key in a list from a file; throws an error that names the file if it has
/// none.
std::string text_of(const Json& entry, const char* key, const fs::path& file) {
  if (const Json* text = entry.find(key); text && text->is_string()) return text->get<std::string>();
  throw error_about(Code::bad_argument, "export", file.string(),
                    std::string("modules that say their '") + key + "'", "one that does not");
}

/// Returns the folder, which must be inside the checkpoint.
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

/// Returns the list of modules.json; null if there is no such file.
Json modules_in(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return nullptr;
  // The bounded parser takes objects only, so the list is put into one.
  Json json = parse_bounded_json(
      "{\"modules\": " + std::string(read_file(open_regular(file), file)->view()) + "}", file);
  Json& list = json["modules"];
  if (!list.is_array() || list.empty())
    throw error_about(Code::bad_argument, "export", file.string(), "a list of modules", "none");
  return std::move(list);
}

/// sentence_bert_config.json, which has other names for other models, may change the encoder's configuration.
void refuse_other_config(const fs::path& encoder) {
  std::error_code ignored;  // a missing folder is reported by the reader of its config.json
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
  const Json list = modules_in(file);
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
    if (&entry != &list[0]) {
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
  Json list = modules_in(checkpoint / "modules.json");
  if (list.is_null()) return {};
  list[0]["path"] = "";
  return list.dump(2) + "\n";
}

}  // namespace lathe::exporters
