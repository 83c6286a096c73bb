// Reads the normalizers, pre-tokenizers and decoders of tokenizer.json.
#include "base/letters.h"
#include "text/base64.h"
#include "text/json_part.h"

namespace lathe::text {
namespace {

constexpr size_t max_stage_depth = 8;

std::string bytes_of(const Part& p) {
  const std::optional<std::string> bytes = base64_bytes(p.text());
  if (!bytes) p.fail("base64", "other characters, or a length that it does not have");
  return *bytes;
}

Pattern read_pattern(const Part& p) {
  const Part literal = p["String"], regex = p["Regex"];
  try {
    if (literal.is_null()) return Pattern(Regex::compile(regex.text()));
    const std::string text = literal.token();
    return text.empty() ? Pattern(Regex::compile("")) : Pattern(text);
  } catch (const PatternFault& f) {
    p["Regex"].unsupported({"a regular expression with " + f.expected}, f.got + " in " + regex.text());
  }
}

SplitBehavior read_behavior(const Part& p, size_t fallback) {
  const std::vector<std::string> names = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                          "Contiguous"};
  return static_cast<SplitBehavior>(p.is_null() ? fallback : p.choice(names));
}

PrependScheme read_scheme(const Part& p) {
  auto scheme = static_cast<PrependScheme>(p["prepend_scheme"].choice({"always", "first", "never"}));
  if (!p["add_prefix_space"].flag(true)) {
    if (scheme != PrependScheme::never && !p["prepend_scheme"].is_null())
      p["prepend_scheme"].fail("never, as add_prefix_space is false", "another");
    scheme = PrependScheme::never;
  }
  return scheme;
}
std::string read_replacement(const Part& p) {
  std::string s;
  append_utf8(s, p["replacement"].is_null() ? char32_t{0x2581} : p["replacement"].character());
  return s;
}

/// Reads the parts of a sequence, of which there are not too many.
template <class Read>
auto read_parts(const Part& list, size_t depth, const Read& read) {
  if (depth >= max_stage_depth)
    list.too_large("sequences nested at most " + std::to_string(max_stage_depth) + " deep", "more");
  if (list.json().is_array() && list.json().size() > max_parts)
    list.too_large("at most " + std::to_string(max_parts) + " parts", std::to_string(list.json().size()));
  std::vector<decltype(read(list, depth))> all;
  for (const Part& p : list.items())
    if (auto one = read(p, depth + 1)) all.push_back(std::move(one));
  return all;
}

NormalizerPtr normalizer_at(const Part& p, size_t depth) {
  const std::string type = p.type();
  if (type == "Sequence") return normalizer_sequence(read_parts(p["normalizers"], depth, normalizer_at));
  if (type == "BertNormalizer") {
    BertOptions o;
    o.clean = p["clean_text"].flag(true), o.ideographs = p["handle_chinese_chars"].flag(true);
    o.lowercase = p["lowercase"].flag(true), o.strip_accents = p["strip_accents"].flag(o.lowercase);
    return bert_normalizer(o);
  }
  if (type == "Lowercase") return lowercase_normalizer();
  if (type == "StripAccents") return strip_accents_normalizer();
  if (type == "Nmt") return nmt_normalizer();
  if (type == "NFD") return form_normalizer(Form::nfd);
  if (type == "NFKD") return form_normalizer(Form::nfkd);
  if (type == "NFC") return form_normalizer(Form::nfc);
  if (type == "NFKC") return form_normalizer(Form::nfkc);
  if (type == "Strip") return strip_normalizer(p["strip_left"].flag(true), p["strip_right"].flag(true));
  if (type == "Prepend") return prepend_normalizer(p["prepend"].token());
  if (type == "Replace") return replace_normalizer(read_pattern(p["pattern"]), p["content"].token());
  if (type == "ByteLevel") return byte_level_normalizer();
  if (type == "Precompiled") {
    const Part map = p["precompiled_charsmap"];
    if (map.is_null()) return nullptr;
    NormalizerPtr n = precompiled_normalizer(bytes_of(map));
    if (!n) map.fail("a table of SentencePiece", "other bytes");
    return n;
  }
  p["type"].unsupported({"BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt",
                         "Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents"},
                        type);
}

PreTokenizerPtr pre_tokenizer_at(const Part& p, size_t depth) {
  const std::string type = p.type();
  if (type == "Sequence")
    return pre_tokenizer_sequence(read_parts(p["pretokenizers"], depth, pre_tokenizer_at));
  if (type == "BertPreTokenizer") return bert_pre_tokenizer();
  if (type == "ByteLevel")
    return byte_level_pre_tokenizer(p["add_prefix_space"].flag(true), p["use_regex"].flag(true));
  if (type == "CharDelimiterSplit") return delimiter_pre_tokenizer(p["delimiter"].character());
  if (type == "Digits") return digits_pre_tokenizer(p["individual_digits"].flag(false));
  if (type == "FixedLength") {
    const int64_t length = p["length"].number(longest_encoding, 5);
    if (length == 0) p["length"].fail("a length above 0", "0");
    return fixed_length_pre_tokenizer(static_cast<size_t>(length));
  }
  if (type == "Metaspace")
    return metaspace_pre_tokenizer(read_replacement(p), read_scheme(p), p["split"].flag(true));
  if (type == "Punctuation") return punctuation_pre_tokenizer(read_behavior(p["behavior"], 1));
  if (type == "Split")
    return pattern_pre_tokenizer(read_pattern(p["pattern"]), read_behavior(p["behavior"], 0),
                                 p["invert"].flag(false));
  if (type == "UnicodeScripts") return scripts_pre_tokenizer();
  if (type == "Whitespace") return whitespace_pre_tokenizer();
  if (type == "WhitespaceSplit") return whitespace_split_pre_tokenizer();
  p["type"].unsupported(
      {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "FixedLength", "Metaspace",
       "Punctuation", "Sequence", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"},
      type);
}

DecoderPtr decoder_at(const Part& p, size_t depth) {
  const std::string type = p.type();
  if (type == "Sequence") return decoder_sequence(read_parts(p["decoders"], depth, decoder_at));
  if (type == "BPEDecoder") return bpe_decoder(p["suffix"].token("</w>"));
  if (type == "ByteFallback") return byte_fallback_decoder();
  if (type == "ByteLevel") return byte_level_decoder();
  if (type == "CTC")
    return ctc_decoder(p["pad_token"].token("<pad>"), p["word_delimiter_token"].token("|"),
                       p["cleanup"].flag(true));
  if (type == "Fuse") return fuse_decoder();
  if (type == "Metaspace") return metaspace_decoder(read_replacement(p), read_scheme(p));
  if (type == "Replace") return replace_decoder(read_pattern(p["pattern"]), p["content"].token());
  if (type == "Strip")
    return strip_decoder(p["content"].character(), static_cast<size_t>(p["start"].number(longest_encoding)),
                         static_cast<size_t>(p["stop"].number(longest_encoding)));
  if (type == "WordPiece") return word_piece_decoder(p["prefix"].token("##"), p["cleanup"].flag(true));
  p["type"].unsupported({"BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace",
                         "Sequence", "Strip", "WordPiece"},
                        type);
}

}  // namespace

NormalizerPtr read_normalizer(const Part& p) { return p.is_null() ? nullptr : normalizer_at(p, 0); }
PreTokenizerPtr read_pre_tokenizer(const Part& p) { return p.is_null() ? nullptr : pre_tokenizer_at(p, 0); }
DecoderPtr read_decoder(const Part& p) { return p.is_null() ? spaces_decoder() : decoder_at(p, 0); }

}  // namespace lathe::text
