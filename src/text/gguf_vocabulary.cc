// Reads what GGUF says of its vocabulary, under keys of
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
#include <algorithm>

#include "base/error_about.h"
#include "io/stored_tensor.h"
#include "text/plain_vocabulary.h"

namespace lathe::text {
namespace {

using Kind = PlainVocabulary::Kind;

class GgufVocabulary {
 public:
  explicit GgufVocabulary(const Gguf& file) : file_(file) {}

  PlainVocabulary read() const {
    PlainVocabulary v;
    v.kind = kind();
    v.tokens = file_.get<std::vector<std::string>>(key("tokens"));
    v.pre = file_.get<std::string>(key("pre"), "");
    for (double s : list<double>("scores")) v.scores.push_back(static_cast<float>(s));
    for (int64_t t : list<int64_t>("token_type")) {
      if (t < 0 || t > 6) fail(Code::json_malformed, "types of tokens from 0 to 6", std::to_string(t));
      v.types.push_back(
          static_cast<int32_t>(std::max<int64_t>(t, 1)));  // 0 is undefined: a token like others
    }
    if (v.kind == Kind::byte_level_bpe) v.merges = file_.get<std::vector<std::string>>(key("merges"));
    for (int64_t b : list<int64_t>("precompiled_charsmap")) v.charsmap += static_cast<char>(b);
    const bool bert = v.kind == Kind::word_piece;
    // The words for BERT's tokens came late; one of them is misspelled in the format.
    v.begin = id(bert ? "cls_token_id" : "bos_token_id", bert ? "bos_token_id" : "");
    v.end = bert ? id("seperator_token_id", "separator_token_id") : id("eos_token_id", "");
    v.unknown = id("unknown_token_id", "");
    v.add_begin = flag("add_bos_token"), v.add_end = flag(bert ? "add_sep_token" : "add_eos_token");
    v.add_space_prefix = flag("add_space_prefix"), v.remove_extra_spaces = flag("remove_extra_whitespaces");
    complete(v);
    return v;
  }

 private:
  static std::string key(const std::string& name) { return "tokenizer.ggml." + name; }
  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const {
    throw error_about(code, "tokenize", file_.files().front().string(), std::move(expected), std::move(got),
                      std::move(remedy));
  }

  Kind kind() const {
    if (!file_.find(key("model")))
      fail(Code::bad_argument, "a file with a vocabulary (tokenizer.ggml.model)", "none",
           "take the file of a language model");
    const auto model = file_.get<std::string>(key("model"));
    if (model == "llama") return Kind::scored_bpe;
    if (model == "gpt2") return Kind::byte_level_bpe;
    if (model == "t5") return Kind::unigram;
    if (model == "bert") return Kind::word_piece;
    fail(Code::not_supported, "a vocabulary (tokenizer.ggml.model) among bert, gpt2, llama, t5",
         in_quotes(model), "take the tokenizer.json of the model");
  }

  template <class T>
  std::vector<T> list(const std::string& name) const {
    return file_.get<std::vector<T>>(key(name), {});
  }
  std::optional<bool> flag(const std::string& name) const {
    if (!file_.find(key(name))) return std::nullopt;
    return file_.get<bool>(key(name));
  }
  std::optional<int64_t> id(const std::string& name, const std::string& other) const {
    if (file_.find(key(name))) return file_.get<int64_t>(key(name));
    if (!other.empty() && file_.find(key(other))) return file_.get<int64_t>(key(other));
    return std::nullopt;
  }

  /// Fills in what llama.cpp takes for granted, where the tokens of that name or id are there.
  static void complete(PlainVocabulary& v) {
    const auto of_type = [&](int64_t id, PlainVocabulary::Type type) -> std::optional<int64_t> {
      const auto at = static_cast<size_t>(id);
      if (at < v.types.size() && v.types[at] == static_cast<int32_t>(type)) return id;
      return std::nullopt;
    };
    const auto named = [&](std::string_view name) -> std::optional<int64_t> {
      const auto at = std::ranges::find(v.tokens, name);
      if (at == v.tokens.end()) return std::nullopt;
      return at - v.tokens.begin();
    };
    if (v.kind == Kind::scored_bpe) {
      if (!v.begin) v.begin = of_type(1, PlainVocabulary::Type::control);
      if (!v.end) v.end = of_type(2, PlainVocabulary::Type::control);
      if (!v.unknown) v.unknown = of_type(0, PlainVocabulary::Type::unknown);
    } else if (v.kind == Kind::word_piece) {
      if (!v.begin) v.begin = named("[CLS]");
      if (!v.end) v.end = named("[SEP]");
      if (!v.unknown) v.unknown = named("[UNK]");
    } else if (v.kind == Kind::unigram && !v.unknown) {
      v.unknown = of_type(2, PlainVocabulary::Type::unknown);
    }
  }

  const Gguf& file_;
};

}  // namespace

PlainVocabulary read_gguf_vocabulary(const Gguf& file) { return GgufVocabulary(file).read(); }

}  // namespace lathe::text

namespace lathe {

Tokenizer Tokenizer::from_gguf(const Gguf& file) {
  return text::make_tokenizer(text::read_gguf_vocabulary(file), file.files().front().string());
}

}  // namespace lathe
