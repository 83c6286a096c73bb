#include "text/tokenizer_document.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error_about.h"
#include "base/json.h"
#include "io/stored_tensor.h"
#include "text/aligned_text.h"
#include "text/charsmap.h"
#include "text/named_splits.h"
#include "text/sentence_piece.h"
#include "text/vocabulary.h"

namespace lathe::text {
namespace {

using Kind = PlainVocabulary::Kind;
using Type = PlainVocabulary::Type;

/// So many pieces that are spaces go at the beginning of a text where extra spaces are removed.
constexpr int most_spaces = 64;
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

/// Replaces what a regular expression matches.
Json replacing_matches(const std::string& pattern, std::string_view to) {
  return Json{{"type", "Replace"}, {"pattern", Json{{"Regex", pattern}}}, {"content", to}};
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : letters[three >> (18 - 6 * k) & 63];
  }
  return text;
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
  bool is_unigram() const { return v_.kind == Kind::unigram; }
  bool removes_spaces() const { return is_unigram() && v_.remove_extra_spaces.value_or(true); }
  bool has_space_prefix() const { return v_.add_space_prefix.value_or(true); }
  Type type_of(size_t id) const { return v_.types.empty() ? Type::normal : static_cast<Type>(v_.types[id]); }

  Json added_tokens() const {
    Json list = Json::array();
    for (size_t i = 0; i < v_.tokens.size(); ++i) {
      Type type = type_of(i);
      if (is_unigram() && is_unknown(i)) type = Type::unknown;
      // Within a model of Unigram these are pieces like others.
      if (is_unigram() && type == Type::user_defined) continue;
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
    if (!v_.charsmap.empty())
      parts.push_back(Json{{"type", "Precompiled"}, {"precompiled_charsmap", base64_of(v_.charsmap)}});
    if (removes_spaces()) {
      parts.push_back(replacing_matches(" {2,}", " "));
      parts.push_back(replacing_matches("\\A ", ""));
    }
    if (has_space_prefix()) parts.push_back(Json{{"type", "Prepend"}, {"prepend", document_space}});
    parts.push_back(replacing(" ", document_space));
    // At the end what looks like a space goes, too.
    if (removes_spaces()) parts.push_back(replacing_matches(std::string(document_space) + "+\\z", ""));
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
    if (has_space_prefix() || removes_spaces())
      parts.push_back(Json{
          {"type", "Strip"}, {"content", " "}, {"start", removes_spaces() ? most_spaces : 1}, {"stop", 0}});
    return sequence_of("decoders", std::move(parts));
  }

  Json named(int64_t id) const { return Json::array(Json(tokens_[static_cast<size_t>(id)]), Json(id)); }

  /// Puts the begin and the end of texts around them.
  Json post_processor() const {
    const bool begins =
        v_.begin && v_.add_begin.value_or(is_byte_level() ? split_->add_begin : !is_unigram());
    const bool ends = v_.end && v_.add_end.value_or(is_word_piece() || is_unigram());
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

  /// Pieces that texts are not made of have the lowest score, which changes that of unknown characters least.
  Json unigram() const {
    float least = std::numeric_limits<float>::max();
    size_t bytes = 0;
    for (size_t i = 0; i < v_.tokens.size(); ++i) {
      bytes += type_of(i) == Type::byte;
      if (type_of(i) != Type::normal || is_unknown(i)) continue;
      least = std::min(least, v_.scores[i]);
    }
    Json vocabulary = Json::array();
    for (size_t i = 0; i < v_.tokens.size(); ++i) {
      float score = type_of(i) == Type::normal && !is_unknown(i) ? v_.scores[i] : least;
      if (type_of(i) == Type::user_defined) score = user_defined_score(v_.tokens[i].size());
      vocabulary.push_back(Json::array(Json(tokens_[i]), Json(static_cast<double>(score))));
    }
    return Json{{"type", "Unigram"},
                {"unk_id", unknown_id()},
                {"vocab", std::move(vocabulary)},
                {"byte_fallback", bytes == 256}};
  }
  bool is_unknown(size_t id) const { return id == unknown_id(); }
  size_t unknown_id() const {
    if (v_.unknown) return static_cast<size_t>(*v_.unknown);
    return static_cast<size_t>(std::ranges::find(v_.types, static_cast<int32_t>(Type::unknown)) -
                               v_.types.begin());
  }

  Json model() const {
    if (is_unigram()) return unigram();
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

namespace {

/// Throws for Unigram with types of tokens that the Rust library does not have within a model.
void require_expressible(const PlainVocabulary& v, const std::string& origin) {
  const auto refuse = [&](const std::string& expected, size_t id) {
    throw error_about(Code::not_supported, "write tokenizer.json", origin, expected, in_quotes(v.tokens[id]),
                      "take the tokenizer.json of the model");
  };
  const std::optional<CharsMap> map = v.charsmap.empty() ? std::nullopt : CharsMap::parse(v.charsmap);
  for (size_t i = 0; i < v.types.size(); ++i) {
    const Type type = static_cast<Type>(v.types[i]);
    if (type == Type::unused) refuse("tokens that are used", i);
    if (type != Type::user_defined) continue;
    const std::string_view text = v.tokens[i];
    for (size_t at = 0; at < text.size(); ++at) {
      const CharsMap::Found found = map ? map->find(text.substr(at), true) : CharsMap::Found{};
      if (text[at] == ' ' || (found.bytes && found.by != text.substr(at, found.bytes)))
        refuse("user-defined tokens that the normalization leaves as they are", i);
    }
  }
}

}  // namespace

std::string tokenizer_document(const PlainVocabulary& v, const std::string& origin) {
  make_tokenizer(v, origin);  // refuses what contradicts itself
  if (v.kind == Kind::unigram) require_expressible(v, origin);
  return TokenizerDocument(v, v.kind == Kind::byte_level_bpe ? split_patterns(v.pre) : std::nullopt).text();
}

}  // namespace lathe::text
