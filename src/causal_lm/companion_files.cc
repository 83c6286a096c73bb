#include "causal_lm/companion_files.h"

#include "base/file.h"
#include "base/json.h"
#include "exporters/gguf_companions.h"
#include "lathe/checkpoint.h"
#include "lathe/error.h"
#include "text/text_files.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t largest_companion = uint64_t{64} << 20;

bool is_there(const fs::path& p) {
  std::error_code ignored;
  return fs::is_regular_file(p, ignored);
}

std::string text_of(const fs::path& path) {
  File f = open_regular(path);
  if (const uint64_t bytes = size_of(f, path); bytes > largest_companion)
    throw file_error(Code::wire_too_large, path, "at most " + std::to_string(largest_companion) + " bytes",
                     std::to_string(bytes), "");
  return std::string(read_file(std::move(f), path)->view());
}

/// A number or a list of some.
Json ids_of(const ModelConfig& config, const std::string& key) {
  Json ids = Json::array<>();
  try {
    for (int64_t id : config.get<std::vector<int64_t>>(key)) ids.push_back(Json(id));
  } catch (const Error&) {
    ids.push_back(Json(config.get<int64_t>(key)));
  }
  return ids;
}

/// Makes a generation_config.json of what a genai_config.json says.
std::string defaults_of(const ModelConfig& genai) {
  Json made = Json::object();
  const auto search = [&](const char* name) { return std::string("search.") + name; };
  if (genai.has("model.eos_token_id")) made["eos_token_id"] = ids_of(genai, "model.eos_token_id");
  for (const char* name : {"temperature", "top_p", "repetition_penalty"})
    if (genai.has(search(name))) made[name] = Json(genai.get<double>(search(name)));
  for (const char* name : {"top_k", "no_repeat_ngram_size", "min_length"})
    if (genai.has(search(name))) made[name] = Json(genai.get<int64_t>(search(name)));
  if (genai.has(search("do_sample"))) made["do_sample"] = Json(genai.get<bool>(search("do_sample")));
  return made.dump();
}

/// Makes one of the tokens that a config.json says; nothing where it says none. Transformers does without the
/// file, too.
std::string defaults_of_config(const ModelConfig& config) {
  Json made = Json::object();
  for (const char* key : {"eos_token_id", "pad_token_id"})
    for (const std::string& at : {std::string(key), std::string("text_config.") + key})
      if (!made.contains(key) && config.has(at)) {
        if (key == std::string_view("eos_token_id"))
          made[key] = ids_of(config, at);
        else
          made[key] = Json(config.get<int64_t>(at));
      }
  return made.empty() ? std::string() : made.dump();
}

}  // namespace

void CompanionFiles::add_config(const std::string& json, const std::string& origin) {
  const ModelConfig config = ModelConfig::parse(json, origin);
  for (const char* key : {"max_position_embeddings", "text_config.max_position_embeddings", "n_positions",
                          "n_ctx", "max_seq_len"})
    if (context_length == 0 && config.has(key)) context_length = config.get<int64_t>(key);
}

CompanionFiles companions_of_folder(const fs::path& folder) {
  CompanionFiles made;
  made.files = text::read_tokenizer_files(folder);
  made.files.merge(text::read_template_files(folder));
  if (constexpr const char* name = "generation_config.json"; is_there(folder / name))
    made.files[name] = text_of(folder / name);
  if (const fs::path file = folder / "genai_config.json"; is_there(file)) {
    const ModelConfig genai = ModelConfig::open(file);
    if (genai.has("model.context_length")) made.context_length = genai.get<int64_t>("model.context_length");
    if (!made.files.contains("generation_config.json"))
      made.files["generation_config.json"] = defaults_of(genai);
  }
  if (const fs::path file = folder / "config.json"; is_there(file)) {
    const std::string json = text_of(file);
    made.add_config(json, file.string());
    if (!made.files.contains("generation_config.json"))
      if (std::string defaults = defaults_of_config(ModelConfig::parse(json, file.string()));
          !defaults.empty())
        made.files["generation_config.json"] = std::move(defaults);
  }
  return made;
}

CompanionFiles companions_of_gguf(const exporters::GgufSource& source) {
  CompanionFiles made;
  std::vector<std::string> left_out;
  made.files = exporters::gguf_companions(source.file(), ModelConfig::parse(source.config(), "config.json"),
                                          "", left_out);
  return made;
}

}  // namespace lathe
