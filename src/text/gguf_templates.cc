#include "text/gguf_templates.h"

namespace lathe::text {
namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";
constexpr const char* padding_key = "tokenizer.ggml.padding_token_id";

std::map<std::string, std::string> templates_of(const Gguf& file) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : file.metadata()) {
    if (key == template_key) all["default"] = value.get<std::string>();
    if (key.size() > template_key.size() + 1 && key.starts_with(template_key) &&
        key[template_key.size()] == '.')
      all.emplace(key.substr(template_key.size() + 1), value.get<std::string>());
  }
  return all;
}

}  // namespace

GgufTemplates read_gguf_templates(const Gguf& file, const PlainVocabulary& v) {
  GgufTemplates made{templates_of(file), {}};
  const auto token = [&](const char* name, std::optional<int64_t> id) {
    if (id && *id >= 0 && static_cast<uint64_t>(*id) < v.tokens.size())
      made.special_tokens[name] = v.tokens[static_cast<size_t>(*id)];
  };
  token("bos_token", v.begin), token("eos_token", v.end), token("unk_token", v.unknown);
  if (file.find(padding_key)) token("pad_token", file.get<int64_t>(padding_key));
  return made;
}

GgufTemplates read_gguf_templates(const Gguf& file) {
  if (file.find("tokenizer.ggml.model")) return read_gguf_templates(file, read_gguf_vocabulary(file));
  return {templates_of(file), {}};
}

}  // namespace lathe::text
