#include "exporters/gguf_companions.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "lathe/error.h"
#include "text/gguf_templates.h"
#include "text/tokenizer_document.h"

namespace lathe::exporters {
namespace {

/// Returns the ids that end a text: the end of all texts, and that of one message.
std::vector<int64_t> gguf_ends(const Gguf& g) {
  std::vector<int64_t> ids;
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (g.find(key))
      if (const auto id = g.get<int64_t>(key); std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  return ids;
}

void add_ids(const Gguf& g, Json& to) {
  if (g.find("tokenizer.ggml.bos_token_id"))
    to["bos_token_id"] = g.get<int64_t>("tokenizer.ggml.bos_token_id");
  const std::vector<int64_t> ends = gguf_ends(g);
  if (ends.size() == 1) {
    to["eos_token_id"] = ends[0];
  } else if (!ends.empty()) {
    Json list = Json::array();
    for (int64_t id : ends) list.push_back(id);
    to["eos_token_id"] = std::move(list);
  }
  if (g.find("tokenizer.ggml.padding_token_id"))
    to["pad_token_id"] = g.get<int64_t>("tokenizer.ggml.padding_token_id");
  else if (!ends.empty())
    to["pad_token_id"] = ends[0];  // It is read where texts of a batch differ in length only.
}

std::string tokenizer_config(const Gguf& g, const text::PlainVocabulary& v, const ModelConfig& config) {
  // Both read tokenizer.json whatever the class is; onnxruntime-genai knows few names.
  using Kind = text::PlainVocabulary::Kind;
  Json all{{"tokenizer_class", v.kind == Kind::byte_level_bpe ? "GPT2Tokenizer"
                               : v.kind == Kind::word_piece   ? "BertTokenizer"
                               : v.kind == Kind::unigram      ? "T5Tokenizer"
                                                              : "LlamaTokenizer"},
           {"model_max_length", config.get<int64_t>("max_position_embeddings")},
           {"clean_up_tokenization_spaces", false}};
  if (v.add_begin) all["add_bos_token"] = *v.add_begin;
  if (v.add_end) all["add_eos_token"] = *v.add_end;
  const text::GgufTemplates said = text::read_gguf_templates(g, v);
  for (const auto& [name, token] : said.special_tokens) all[name] = token;
  if (said.templates.size() == 1 && said.templates.contains("default")) {
    all["chat_template"] = said.templates.at("default");
  } else if (!said.templates.empty()) {
    Json list = Json::array();
    for (const auto& [name, source] : said.templates)
      list.push_back(Json{{"name", name}, {"template", source}});
    all["chat_template"] = std::move(list);
  }
  return all.dump(2) + "\n";
}

std::string genai_config(const Gguf& g, const ModelConfig& c, const std::string& model_file) {
  Json decoder{{"filename", model_file},
               {"session_options", Json::object()},
               {"head_size", c.get<int64_t>("head_dim")},
               {"hidden_size", c.get<int64_t>("hidden_size")},
               {"num_attention_heads", c.get<int64_t>("num_attention_heads")},
               {"num_key_value_heads", c.get<int64_t>("num_key_value_heads")},
               {"num_hidden_layers", c.get<int64_t>("num_hidden_layers")}};
  decoder["inputs"] = Json{{"input_ids", "input_ids"},
                           {"attention_mask", "attention_mask"},
                           {"position_ids", "position_ids"},
                           {"past_key_names", "past_key_values.%d.key"},
                           {"past_value_names", "past_key_values.%d.value"}};
  decoder["outputs"] = Json{{"logits", "logits"},
                            {"present_key_names", "present.%d.key"},
                            {"present_value_names", "present.%d.value"}};
  const auto length = c.get<int64_t>("max_position_embeddings");
  Json model{{"type", c.get<std::string>("model_type")},
             {"context_length", length},
             {"vocab_size", c.get<int64_t>("vocab_size")}};
  add_ids(g, model);
  model["decoder"] = std::move(decoder);
  // Keys and values are made anew in each step, as long as they are by then.
  Json all{
      {"model", std::move(model)},
      {"search", Json{{"max_length", length}, {"do_sample", false}, {"past_present_share_buffer", false}}}};
  return all.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> gguf_companions(const Gguf& file, const ModelConfig& config,
                                                   const std::string& model_file,
                                                   std::vector<std::string>& left_out) {
  std::map<std::string, std::string> all;
  Json generation = Json::object();
  add_ids(file, generation);
  if (!generation.empty()) all["generation_config.json"] = generation.dump(2) + "\n";
  try {
    text::PlainVocabulary v = text::read_gguf_vocabulary(file);
    all["tokenizer.json"] = text::tokenizer_document(v, file.files().front().string());
    all["tokenizer_config.json"] = tokenizer_config(file, v, config);
  } catch (const Error& e) {
    left_out.push_back("tokenizer.json: " + std::string(e.what()));
    return all;
  }
  if (!model_file.empty() && !gguf_ends(file).empty())
    all["genai_config.json"] = genai_config(file, config, model_file);
  else if (!model_file.empty())
    left_out.push_back("genai_config.json: no token ends a text");
  return all;
}

}  // namespace lathe::exporters
