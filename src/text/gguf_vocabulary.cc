// Reads what GGUF says of its vocabulary, under keys of
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
#include "base/error_about.h"
#include "io/stored_tensor.h"
#include "text/plain_vocabulary.h"

namespace lathe::text {
namespace {

std::string ggml_key(const std::string& name) { return "tokenizer.ggml." + name; }

PlainVocabulary::Kind ggml_kind(const Gguf& file) {
  const auto model = file.get<std::string>(ggml_key("model"));
  if (model == "llama") return PlainVocabulary::Kind::scored_bpe;
  if (model == "gpt2") return PlainVocabulary::Kind::byte_level_bpe;
  if (model == "t5") return PlainVocabulary::Kind::unigram;
  throw error_about(Code::not_supported, "read gguf", file.files().front(),
                    "a vocabulary (tokenizer.ggml.model) among gpt2, llama, t5", in_quotes(model));
}

}  // namespace

PlainVocabulary read_gguf_vocabulary(const Gguf& file) {
  PlainVocabulary v;
  v.kind = ggml_kind(file);
  v.tokens = file.get<std::vector<std::string>>(ggml_key("tokens"));
  v.pre = file.get<std::string>(ggml_key("pre"), "");
  if (v.kind == PlainVocabulary::Kind::byte_level_bpe)
    v.merges = file.get<std::vector<std::string>>(ggml_key("merges"));
  for (double s : file.get<std::vector<double>>(ggml_key("scores"), {}))
    v.scores.push_back(static_cast<float>(s));
  for (int64_t t : file.get<std::vector<int64_t>>(ggml_key("token_type"), {}))
    v.types.push_back(static_cast<int32_t>(t));
  for (int64_t b : file.get<std::vector<int64_t>>(ggml_key("precompiled_charsmap"), {}))
    v.charsmap += static_cast<char>(b);
  const auto id = [&](const char* name, std::optional<int64_t>& to) {
    if (file.find(ggml_key(name))) to = file.get<int64_t>(ggml_key(name));
  };
  id("bos_token_id", v.begin), id("eos_token_id", v.end), id("unknown_token_id", v.unknown);
  const auto flag = [&](const char* name, std::optional<bool>& to) {
    if (file.find(ggml_key(name))) to = file.get<bool>(ggml_key(name));
  };
  flag("add_bos_token", v.add_begin), flag("add_eos_token", v.add_end);
  flag("add_space_prefix", v.add_space_prefix);
  return v;
}

}  // namespace lathe::text
