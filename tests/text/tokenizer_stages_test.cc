// Every stage of tokenizers alone, on small vocabularies of our own; tests/python holds them against the Rust
// library.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lathe/error.h"
#include "lathe/tokenizer.h"
#include "support/error_code.h"
#include "text/score_number.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
using Json = nlohmann::json;
using Ids = std::vector<int64_t>;
using Words = std::vector<std::string>;

/// A vocabulary that has each of these words, in the order given.
Json ids_of(const Words& words) {
  Json v = Json::object();
  for (const std::string& w : words) v[w] = v.size();
  return v;
}
Tokenizer made(const Json& model, const Json& more = Json::object()) {
  Json document = {{"model", model}};
  document.update(more);
  return Tokenizer::parse(document.dump());
}
/// The words that a pre-tokenizer makes of a text that a normalizer changed: unknown words keep their texts.
Words words_of(const std::string& text, const Json& more) {
  const Tokenizer t =
      made({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", Json::array({Json::array({"\x01", 0.0})})}}, more);
  return t.encode(text).tokens;
}
Words split(const std::string& text, const Json& pre_tokenizer) {
  return words_of(text, {{"pre_tokenizer", pre_tokenizer}});
}
std::string normalized(const std::string& text, const Json& normalizer) {
  std::string all;
  for (const std::string& w : words_of(text, {{"normalizer", normalizer}})) all += w;
  return all;
}
Json pattern(const std::string& regex, const std::string& behavior = "Isolated") {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", false}};
}
std::string decoded(const Words& tokens, const Json& decoder) {
  Words all = {"<u>"};
  for (const std::string& t : tokens)
    if (std::ranges::find(all, t) == all.end()) all.push_back(t);
  const Json v = ids_of(all);
  const Tokenizer t =
      made({{"type", "WordLevel"}, {"vocab", v}, {"unk_token", "<u>"}}, {{"decoder", decoder}});
  Ids ids;
  for (const std::string& token : tokens) ids.push_back(v.at(token));
  const std::string whole = t.decode(ids);
  std::string streamed;
  DecodeStream stream = t.decode_stream();
  for (int64_t id : ids) streamed += stream.append(id);
  EXPECT_EQ(streamed + stream.finish(), whole);
  return whole;
}

TEST(TokenizerNormalizers, Each) {
  EXPECT_EQ(normalized("ÀÉ", {{"type", "Lowercase"}}), "àé");
  EXPECT_EQ(normalized("e\u0301", {{"type", "NFC"}}), "é");
  EXPECT_EQ(normalized("é각", {{"type", "NFD"}}), "e\u0301\u1100\u1161\u11a8");
  EXPECT_EQ(normalized("ﬁ²", {{"type", "NFKC"}}), "fi2");
  EXPECT_EQ(normalized("ﬁé", {{"type", "NFKD"}}), "fie\u0301");
  EXPECT_EQ(normalized("q\u0307\u0323", {{"type", "NFC"}}), "q\u0323\u0307");
  EXPECT_EQ(normalized("e\u0301x", {{"type", "StripAccents"}}), "ex");
  EXPECT_EQ(normalized("a\tb\u0001", {{"type", "Nmt"}}), "a b");
  EXPECT_EQ(normalized(" \u3000a b ", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}),
            "a b ");
  EXPECT_EQ(normalized("ab", {{"type", "Prepend"}, {"prepend", "_"}}), "_ab");
  EXPECT_EQ(normalized("a b", {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}),
            "a▁b");
  EXPECT_EQ(normalized("a12b", {{"type", "Replace"}, {"pattern", {{"Regex", "\\d+"}}}, {"content", "#"}}),
            "a#b");
  EXPECT_EQ(normalized(" é", {{"type", "ByteLevel"}}), "ĠÃ©");
  EXPECT_EQ(normalized("É", {{"type", "BertNormalizer"}}), "e");
  const Json both = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFD"}}, {{"type", "StripAccents"}}}}};
  EXPECT_EQ(normalized("é", both), "e");
}

TEST(TokenizerPreTokenizers, Each) {
  EXPECT_EQ(split("a, b", {{"type", "BertPreTokenizer"}}), (Words{"a", ",", "b"}));
  EXPECT_EQ(split("it's 5 ", {{"type", "ByteLevel"}, {"add_prefix_space", true}}),
            (Words{"Ġit", "'s", "Ġ5", "Ġ"}));
  EXPECT_EQ(split("a\n\n b", {{"type", "ByteLevel"}, {"add_prefix_space", false}}), (Words{"a", "ĊĊ", "Ġb"}));
  EXPECT_EQ(split("a-b", {{"type", "CharDelimiterSplit"}, {"delimiter", "-"}}), (Words{"a", "b"}));
  EXPECT_EQ(split("a12", {{"type", "Digits"}, {"individual_digits", true}}), (Words{"a", "1", "2"}));
  EXPECT_EQ(split("a12", {{"type", "Digits"}, {"individual_digits", false}}), (Words{"a", "12"}));
  EXPECT_EQ(split("aéb", {{"type", "FixedLength"}, {"length", 2}}), (Words{"aé", "b"}));
  EXPECT_EQ(split("a b", {{"type", "Metaspace"}, {"prepend_scheme", "always"}}), (Words{"▁a", "▁b"}));
  EXPECT_EQ(split("a b", {{"type", "Metaspace"}, {"prepend_scheme", "never"}, {"split", false}}),
            (Words{"a▁b"}));
  EXPECT_EQ(split("a!?b", {{"type", "Punctuation"}, {"behavior", "Contiguous"}}), (Words{"a", "!?", "b"}));
  EXPECT_EQ(split("aя b", {{"type", "UnicodeScripts"}}), (Words{"a", "я ", "b"}));
  EXPECT_EQ(split("a_b c!", {{"type", "Whitespace"}}), (Words{"a_b", "c", "!"}));
  EXPECT_EQ(split("a_b c!", {{"type", "WhitespaceSplit"}}), (Words{"a_b", "c!"}));
}

TEST(TokenizerPreTokenizers, SplitBehaviors) {
  EXPECT_EQ(split("-a--b-", pattern("-", "Removed")), (Words{"a", "b"}));
  EXPECT_EQ(split("-a--b-", pattern("-", "Isolated")), (Words{"-", "a", "-", "-", "b", "-"}));
  EXPECT_EQ(split("-a--b-", pattern("-", "MergedWithPrevious")), (Words{"-", "a-", "-", "b-"}));
  EXPECT_EQ(split("-a--b-", pattern("-", "MergedWithNext")), (Words{"-a", "-", "-b", "-"}));
  EXPECT_EQ(split("-a--b-", pattern("-", "Contiguous")), (Words{"-", "a", "--", "b", "-"}));
}

TEST(TokenizerPatterns, Syntax) {
  EXPECT_EQ(split("ab12", pattern("\\p{L}+|\\p{N}")), (Words{"ab", "1", "2"}));
  EXPECT_EQ(split("aab", pattern("a++b|a")), (Words{"aab"}));
  EXPECT_EQ(split("aaa", pattern("a{2}")), (Words{"aa", "a"}));
  EXPECT_EQ(split("IT's", pattern("(?i:it|'S)")), (Words{"IT", "'s"}));
  EXPECT_EQ(split("ab", pattern("(?<=a)b", "Removed")), (Words{"a"}));
  EXPECT_EQ(split("a  b", pattern("\\s+(?!\\S)|\\s+")), (Words{"a", " ", " ", "b"}));
  EXPECT_EQ(split("aBc", pattern("[\\p{L}&&[^B]]+")), (Words{"a", "B", "c"}));
  EXPECT_EQ(split("你a", pattern("\\p{Han}|[\\x{61}]")), (Words{"你", "a"}));
  for (const char* bad :
       {"(", ")", "[a", "a{3,2}", "\\1", "(?<n>a)", "\\p{Nothing}", "*", "(a*)*", "\\", "[b-a]", "(?<=ab)c"})
    EXPECT_EQ(code_of([&] { split("a", pattern(bad)); }), Code::not_supported) << bad;
  EXPECT_EQ(code_of([&] { split("a", pattern(std::string(1000, '(') + std::string(1000, ')'))); }),
            Code::not_supported);
}

TEST(TokenizerPatterns, WhatExplodesIsAnError) {
  const std::string text(3000, 'a');
  EXPECT_EQ(code_of([&] { split(text, pattern("(?:a|aa)+$b")); }), Code::run_too_large);
  EXPECT_EQ(code_of([&] { split(text, pattern("(?:a+b?)+c")); }), Code::run_too_large);
}

Json byte_level_bpe() {
  return {{"type", "BPE"},
          {"vocab", ids_of({"a", "b", "Ġ", "Ã", "©", "Ã©", "ab", "Ġab", "c"})},
          {"merges", {"Ã ©", "a b", "Ġ ab"}}};
}

TEST(TokenizerBpe, MergesLowestRankFirst) {
  const Json v = ids_of({"a", "b", "c", "ab", "bc", "abc"});
  EXPECT_EQ(made({{"type", "BPE"}, {"vocab", v}, {"merges", {"b c", "a b"}}}).encode("abc").tokens,
            (Words{"a", "bc"}));
  EXPECT_EQ(made({{"type", "BPE"}, {"vocab", v}, {"merges", {"a b", "b c", "ab c"}}}).encode("abcab").tokens,
            (Words{"abc", "ab"}));
  // Of a pair that is listed twice the last rank counts.
  EXPECT_EQ(made({{"type", "BPE"}, {"vocab", v}, {"merges", {"a b", "b c", "a b"}}}).encode("abc").tokens,
            (Words{"a", "bc"}));
  const Json whole = {{"type", "BPE"}, {"vocab", v}, {"merges", Json::array()}, {"ignore_merges", true}};
  EXPECT_EQ(made(whole).encode("abc").tokens, (Words{"abc"}));
  EXPECT_EQ(made(whole).encode("abcx").tokens, (Words{"a", "b", "c"}));  // x vanishes
}

TEST(TokenizerBpe, BytesOffsetsAndStreams) {
  const Tokenizer t =
      made(byte_level_bpe(), {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                              {"decoder", {{"type", "ByteLevel"}}}});
  const Encoding e = t.encode("ab é ab");
  EXPECT_EQ(e.tokens, (Words{"ab", "Ġ", "Ã©", "Ġab"}));
  EXPECT_EQ(e.offsets[2], (std::pair<size_t, size_t>{3, 5}));
  EXPECT_EQ(t.decode(e.ids), "ab é ab");
  DecodeStream s = t.decode_stream();
  EXPECT_EQ(s.append(3), "");  // half a character
  EXPECT_EQ(s.append(4), "é");
  EXPECT_EQ(s.append(1000), "");
  EXPECT_EQ(s.append(3), "");
  EXPECT_EQ(s.finish(), "\ufffd");
  EXPECT_EQ(code_of([&] { s.append(0); }), Code::bad_argument);
}

TEST(TokenizerBpe, UnknownCharacters) {
  const Json v = ids_of({"<u>", "a", "<0xC3>", "<0xA9>"});
  Json m = {{"type", "BPE"}, {"vocab", v}, {"merges", Json::array()}, {"unk_token", "<u>"}};
  EXPECT_EQ(made(m).encode("axya").ids, (Ids{1, 0, 0, 1}));
  m["fuse_unk"] = true;
  EXPECT_EQ(made(m).encode("axya").ids, (Ids{1, 0, 1}));
  m["byte_fallback"] = true;
  EXPECT_EQ(made(m).encode("éx").ids, (Ids{2, 3, 0}));
  m["unk_token"] = "none";
  EXPECT_EQ(code_of([&] { made(m).encode("x"); }), Code::run_bad_value);
}

TEST(TokenizerBpe, HostileFiles) {
  const auto code = [](const Json& model) { return code_of([&] { made(model).encode("aaaa"); }); };
  const Json v = ids_of({"a", "aa"});
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", v}, {"merges", {"a b"}}}), Code::json_malformed);
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", v}, {"merges", {"aa"}}}), Code::json_malformed);
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", v}, {"merges", {{"a", "a", "a"}}}}), Code::json_malformed);
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", v}, {"merges", {"aa aa"}}}), Code::json_malformed);
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", v}, {"merges", {"a a"}}, {"dropout", 0.1}}),
            Code::not_supported);
  // Merges that give back what they take never end elsewhere; here each makes a word shorter.
  const Json cyclic = {{"", 0}, {"a", 1}};
  EXPECT_EQ(code({{"type", "BPE"}, {"vocab", cyclic}, {"merges", {" a", "a "}}}), Code::none);
}

TEST(TokenizerBpe, LongWordsTakeTimeInProportion) {
  const Tokenizer t =
      made({{"type", "BPE"}, {"vocab", ids_of({"a", "aa", "aaaa"})}, {"merges", {"a a", "aa aa"}}});
  const Encoding e = t.encode(std::string(1 << 20, 'a'));
  EXPECT_EQ(e.size(), size_t{1} << 18);
  EXPECT_EQ(e.offsets.back().second, size_t{1} << 20);
}

TEST(TokenizerUnigram, BestSum) {
  const std::vector<std::pair<std::string, double>> scores = {{"<u>", 0.0}, {"a", -1.0},   {"b", -1.0},
                                                              {"ab", -1.5}, {"abc", -9.0}, {"c", -2.0}};
  Json m = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", scores}};
  EXPECT_EQ(made(m).encode("abc").tokens, (Words{"ab", "c"}));
  EXPECT_EQ(made(m).encode("axyb").tokens, (Words{"a", "xy", "b"}));
  EXPECT_EQ(made(m).encode("axyb").ids, (Ids{1, 0, 2}));
  m["unk_id"] = 6;
  EXPECT_EQ(code_of([&] { made(m); }), Code::json_malformed);
  m["unk_id"] = nullptr;
  EXPECT_EQ(code_of([&] { made(m).encode("x"); }), Code::run_bad_value);
}

TEST(TokenizerUnigram, ScoresAreThoseOfTheRustLibrary) {
  // It makes of these texts numbers beside the nearest ones.
  EXPECT_EQ(text::score_number("-5.6597260649584396"), -5.65972606495844);
  EXPECT_EQ(text::score_number("-7.5005885200990825"), -7.500588520099083);
  // Digits beyond 64 bits do not count, whether they are before the point or behind it.
  EXPECT_EQ(text::score_number("1234567890123456789012345e2"), 12345678901234567890.0 * 1e7);
  EXPECT_EQ(text::score_number("0.12345678901234567890999"), 12345678901234567890.0 / 1e20);
  EXPECT_EQ(text::score_number("99999999999999999999.5"), 9999999999999999999.0 * 10);
  EXPECT_EQ(text::score_number("-1.5e-3"), -15.0 / 1e4);
  EXPECT_EQ(text::score_number("1E+2"), 100);
  EXPECT_EQ(text::score_number("1e-400"), 1 / 1e308 / 1e92);
  EXPECT_EQ(text::score_number("1e-99999999999999999999"), 0);
  EXPECT_EQ(text::score_number("0.0e999"), 0);
  EXPECT_EQ(text::score_number(""), 0);
}

TEST(TokenizerModels, WordLevelTakesWholeWords) {
  const Tokenizer t = made({{"type", "WordLevel"}, {"vocab", ids_of({"<u>", "a"})}, {"unk_token", "<u>"}},
                           {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}}});
  EXPECT_EQ(t.encode("a b a").ids, (Ids{1, 0, 1}));
  EXPECT_EQ(t.decode(Ids{1, 0}), "a <u>");
}

TEST(TokenizerDecoders, Each) {
  EXPECT_EQ(decoded({"Ġa", "Ã", "©", "Ã"}, {{"type", "ByteLevel"}}), " aé\ufffd");
  EXPECT_EQ(decoded({"a", "##b", "c"}, {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}), "ab c");
  EXPECT_EQ(decoded({"a", "!"}, {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}), "a!");
  EXPECT_EQ(decoded({"a</w>", "b</w>"}, {{"type", "BPEDecoder"}}), "a b");
  EXPECT_EQ(
      decoded({"▁a", "▁b"}, {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}),
      "a b");
  EXPECT_EQ(decoded({"<0xE2>", "<0x82>", "<0xAC>", "x", "<0xE2>", "<0x82>"}, {{"type", "ByteFallback"}}),
            "€x\ufffd\ufffd");
  EXPECT_EQ(decoded({"h", "h", "<pad>", "h", "|"},
                    {{"type", "CTC"}, {"pad_token", "<pad>"}, {"word_delimiter_token", "|"}}),
            "hh ");
  EXPECT_EQ(decoded({"aab", "a"}, {{"type", "Strip"}, {"content", "a"}, {"start", 1}, {"stop", 0}}), "ab");
  EXPECT_EQ(decoded({"a", "b"}, nullptr), "a b");
  const Json llama = {{"type", "Sequence"},
                      {"decoders",
                       {{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                        {{"type", "ByteFallback"}},
                        {{"type", "Fuse"}},
                        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  EXPECT_EQ(decoded({"▁a", "▁", "b", "<0x0A>"}, llama), "a b\n");
}

TEST(TokenizerPostProcessors, RobertaAndTrimmedOffsets) {
  Json more = {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"post_processor",
                {{"type", "RobertaProcessing"},
                 {"cls", {"<s>", 50}},
                 {"sep", {"</s>", 51}},
                 {"add_prefix_space", false}}}};
  const Encoding e = made(byte_level_bpe(), more).encode({"ab ab", "c"});
  EXPECT_EQ(e.ids, (Ids{50, 6, 7, 51, 51, 8, 51}));
  EXPECT_EQ(e.type_ids, Ids(7, 0));
  EXPECT_EQ(e.offsets[2], (std::pair<size_t, size_t>{3, 5}));
}

TEST(TokenizerAddedTokens, FlagsAndDecoding) {
  const auto added = [](const std::string& content, Json flags = Json::object()) {
    Json t = {{"id", 0}, {"content", content}};
    t.update(flags);
    return t;
  };
  const Json more = {
      {"normalizer", {{"type", "Lowercase"}}},
      {"added_tokens",
       {added("<S>", {{"special", true}}), added("Ab", {{"normalized", true}}),
        added("<l>", {{"lstrip", true}, {"normalized", false}}), added("one", {{"single_word", true}})}}};
  const Tokenizer t =
      made({{"type", "WordLevel"}, {"vocab", ids_of({"<u>", "x"})}, {"unk_token", "<u>"}}, more);
  EXPECT_EQ(t.size(), 6u);
  EXPECT_EQ(t.encode("x<S>AB").ids, (Ids{1, 2, 3}));
  EXPECT_EQ(t.encode("x  <l>").ids, (Ids{1, 4}));
  EXPECT_EQ(t.encode("x  <l>").offsets[1], (std::pair<size_t, size_t>{1, 6}));
  EXPECT_EQ(t.encode("ones").ids, (Ids{0}));
  EXPECT_EQ(t.decode(Ids{2, 1}), "x");
  EXPECT_EQ(t.decode(Ids{2, 1}, false), "<S> x");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
