#include "text/tokenizer_document.h"

#include <algorithm>
#include <numeric>

#include "base/error_about.h"
#include "base/json.h"
#include "text/aligned_text.h"
#include "text/named_splits.h"
#include "text/vocabulary.h"

namespace lathe::text {
namespace {

using Kind = PlainVocabulary::Kind;
using Type = PlainVocabulary::Type;

constexpr std::string_view document_space = "\xe2\x96\x81";  // U+2581

Json list_of(std::vector<Json> items) {
  Json list = Json::array();
  for (Json& item : items) list.push_back(std::move(item));
  return list;
}

Json sequence_of(const char* name, std::vector<Json> parts) {
  return Json{{"type", "Sequence"}, {name, list_of(std::move(parts))}};
}

/// Replaces one text by another, as normalizer or decoder.
Json replacing(std::string_view from, std::string_view to) {
  return Json{{"type", "Replace"}, {"pattern", Json{{"String", from}}}, {"content", to}};
}

Json byte_level(bool use_regex) {
  return Json{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

class TokenizerDocument {
 public:
  TokenizerDocument(const PlainVocabulary& v, std::optional<SplitPatterns> split)
      : v_(v), tokens_(v.kind == Kind::word_piece ? bert_words(v) : v.tokens), split_(std::move(split)) {}

  std::string text() const {
    Json all{{"version", "1.0"},
             {"truncation", nullptr},
             {"padding", nullptr},
             {"added_tokens", added_tokens()},
             {"normalizer", normalizer()},
             {"pre_tokenizer", pre_tokenizer()},
             {"post_processor", post_processor()},
             {"decoder", decoder()},
             {"model", model()}};
    return all.dump() + "\n";
  }

 private:
  bool is_byte_level() const { return v_.kind == Kind::byte_level_bpe; }
  bool is_word_piece() const { return v_.kind == Kind::word_piece; }
  bool has_space_prefix() const { return v_.add_space_prefix.value_or(true); }
  Type type_of(size_t id) const { return v_.types.empty() ? Type::normal : static_cast<Type>(v_.types[id]); }

  Json added_tokens() const {
    Json list = Json::array();
    for (size_t i = 0; i < v_.tokens.size(); ++i) {
      const Type type = type_of(i);
      if (type != Type::control && type != Type::user_defined && type != Type::unknown) continue;
      list.push_back(Json{{"id", i},
                          {"content", tokens_[i]},
                          {"single_word", false},
                          {"lstrip", false},
                          {"rstrip", false},
                          {"normalized", false},
                          {"special", type != Type::user_defined}});
    }
    return list;
  }

  Json normalizer() const {
    if (is_byte_level()) return nullptr;
    if (is_word_piece())
      return Json{{"type", "BertNormalizer"},
                  {"clean_text", true},
                  {"handle_chinese_chars", true},
                  {"strip_accents", nullptr},
                  {"lowercase", true}};
    std::vector<Json> parts;
    if (has_space_prefix()) parts.push_back(Json{{"type", "Prepend"}, {"prepend", document_space}});
    parts.push_back(replacing(" ", document_space));
    return sequence_of("normalizers", std::move(parts));
  }

  Json pre_tokenizer() const {
    if (is_word_piece()) return Json{{"type", "BertPreTokenizer"}};
    if (!is_byte_level()) return nullptr;
    std::vector<Json> parts;
    const auto split = [&](std::string_view pattern) {
      parts.push_back(Json{{"type", "Split"},
                           {"pattern", Json{{"Regex", pattern}}},
                           {"behavior", "Isolated"},
                           {"invert", false}});
    };
    for (const std::string& pattern : split_->patterns) split(pattern);
    // onnxruntime-genai does not split by ByteLevel's own pattern behind another one.
    if (split_->like_gpt2)
      split(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
    parts.push_back(byte_level(false));
    return sequence_of("pretokenizers", std::move(parts));
  }

  Json decoder() const {
    if (is_byte_level()) return byte_level(true);
    if (is_word_piece()) return Json{{"type", "WordPiece"}, {"prefix", continuing_prefix}, {"cleanup", true}};
    std::vector<Json> parts;
    parts.push_back(replacing(document_space, " "));
    parts.push_back(Json{{"type", "ByteFallback"}});
    parts.push_back(Json{{"type", "Fuse"}});
    if (has_space_prefix())
      parts.push_back(Json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return sequence_of("decoders", std::move(parts));
  }

  Json named(int64_t id) const { return Json::array(Json(tokens_[static_cast<size_t>(id)]), Json(id)); }

  /// Puts the begin and the end of texts around them.
  Json post_processor() const {
    const bool begins = v_.begin && v_.add_begin.value_or(!is_byte_level() || split_->add_begin);
    const bool ends = v_.end && v_.add_end.value_or(is_word_piece());
    if (!begins && !ends) return nullptr;
    if (is_word_piece() && begins && ends)
      return Json{{"type", "BertProcessing"}, {"sep", named(*v_.end)}, {"cls", named(*v_.begin)}};
    Json single = Json::array(), pair = Json::array(), specials = Json::object();
    const auto special = [&](Json& list, int64_t id) {
      const std::string& token = tokens_[static_cast<size_t>(id)];
      list.push_back(Json{{"SpecialToken", Json{{"id", token}, {"type_id", 0}}}});
      specials[token] =
          Json{{"id", token}, {"ids", Json::array(Json(id))}, {"tokens", Json::array(Json(token))}};
    };
    const auto around = [&](Json& list, const char* sequence) {
      if (begins) special(list, *v_.begin);
      list.push_back(Json{{"Sequence", Json{{"id", sequence}, {"type_id", 0}}}});
      if (ends) special(list, *v_.end);
    };
    around(single, "A"), around(pair, "A"), around(pair, "B");
    return Json{{"type", "TemplateProcessing"},
                {"single", std::move(single)},
                {"pair", std::move(pair)},
                {"special_tokens", std::move(specials)}};
  }

  Json model() const {
    Json vocabulary = Json::object();
    for (size_t i = 0; i < tokens_.size(); ++i) vocabulary[tokens_[i]] = Json(i);
    Json unknown;
    if (!is_byte_level() && v_.unknown) unknown = Json(tokens_[static_cast<size_t>(*v_.unknown)]);
    if (is_word_piece())
      return Json{{"type", "WordPiece"},
                  {"unk_token", std::move(unknown)},
                  {"continuing_subword_prefix", continuing_prefix},
                  {"max_input_chars_per_word", longest_bert_word},
                  {"vocab", std::move(vocabulary)}};
    return Json{{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", std::move(unknown)},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", !is_byte_level()},
                {"ignore_merges", is_byte_level() && split_->ignore_merges},
                {"vocab", std::move(vocabulary)},
                {"merges", is_byte_level() ? merges_of_file() : merges_of_scores()}};
  }

  Json merges_of_file() const {
    Json list = Json::array();
    for (const std::string& both : v_.merges) {
      const size_t space = both.find(' ', 1);  // make_tokenizer() has checked them
      list.push_back(Json::array(Json(both.substr(0, space)), Json(both.substr(space + 1))));
    }
    return list;
  }

  Json merges_of_scores() const {
    Vocabulary known;
    known.reserve(v_.tokens.size());
    for (uint32_t i = 0; i < v_.tokens.size(); ++i) known.add(v_.tokens[i], i);
    known.finish();
    std::vector<uint32_t> order(v_.tokens.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t id) { return v_.scores[id]; });
    Json list = Json::array();
    for (uint32_t id : order) {
      const std::string_view token = v_.tokens[id];
      if (known.find(token) != id) continue;
      for (size_t cut = token.size(); cut-- > 1;) {
        if (!begins_character(token[cut])) continue;
        const std::string_view left = token.substr(0, cut), right = token.substr(cut);
        if (known.find(right) != no_token && known.find(left) != no_token)
          list.push_back(Json::array(Json(left), Json(right)));
      }
    }
    return list;
  }

  const PlainVocabulary& v_;
  const std::vector<std::string> tokens_;
  const std::optional<SplitPatterns> split_;  // of byte-level vocabularies
};

}  // namespace

std::string tokenizer_document(const PlainVocabulary& v, const std::string& origin) {
  make_tokenizer(v, origin);  // refuses what contradicts itself
  if (v.kind == Kind::unigram)
    throw error_about(Code::not_supported, "write tokenizer.json", origin, "a vocabulary of BPE or WordPiece",
                      "Unigram, which the Rust library normalizes otherwise than SentencePiece",
                      "take the tokenizer.json of the model");
  return TokenizerDocument(v, v.kind == Kind::byte_level_bpe ? split_patterns(v.pre) : std::nullopt).text();
}

}  // namespace lathe::text
