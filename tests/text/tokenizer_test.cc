// Tokenizers: what the Rust library makes of texts in many scripts, and files that are no tokenizers.
#include "lathe/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lathe/error.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path recorded = fs::path(LATHE_SOURCE_DIR) / "tests/data/tokenizer";

Json read_json(const fs::path& file) {
  std::ifstream in(file);
  return Json::parse(in);
}
const Json& base() {
  static const Json document = read_json(recorded / "tokenizer.json");
  return document;
}
Json with(const Json& changes) {
  Json document = base();
  for (const auto& [key, value] : changes.items()) document[key] = value;
  return document;
}
Tokenizer made(const Json& changes) { return Tokenizer::parse(with(changes).dump()); }

// ── As `tokenizers` does it

TextInput text_of(const Json& text, const Json& pair) {
  if (pair.is_null()) return text.get<std::string>();
  return {text.get<std::string>(), pair.get<std::string>()};
}

void expect_equal(const Encoding& got, const Json& want, const std::string& what) {
  EXPECT_EQ(Json(got.tokens), want.at("tokens")) << what;
  EXPECT_EQ(Json(got.ids), want.at("ids")) << what;
  EXPECT_EQ(Json(got.type_ids), want.at("type_ids")) << what;
  EXPECT_EQ(Json(got.attention_mask), want.at("attention_mask")) << what;
  EXPECT_EQ(Json(got.special_mask), want.at("special_mask")) << what;
  EXPECT_EQ(Json(got.sequence), want.at("sequence")) << what;
  EXPECT_EQ(Json(got.offsets), want.at("offsets")) << what;
}

TEST(Tokenizer, DoesAsTheRustLibrary) {
  size_t seen = 0;
  const Json document = read_json(recorded / "recorded.json");
  for (const Json& variant : document.at("variants")) {
    const Tokenizer tokenizer = made(variant.at("changes"));
    for (const Json& r : variant.at("records")) {
      const std::string what = variant.at("name").get<std::string>() + ": " + r.dump().substr(0, 100);
      if (r.contains("batch")) {
        std::vector<TextInput> texts;
        for (const Json& t : r.at("texts")) texts.push_back(text_of(t[0], t[1]));
        const std::vector<Encoding> got = tokenizer.encode_batch(texts);
        ASSERT_EQ(got.size(), r.at("batch").size());
        for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], r.at("batch")[i], what);
      } else {
        expect_equal(tokenizer.encode(text_of(r.at("text"), r.at("pair")), r.at("special")), r, what);
      }
      ++seen;
    }
  }
  EXPECT_GT(seen, 300u);
}

// ── Requests

TEST(Tokenizer, BatchesAreInputsOfModels) {
  const Tokenizer padded = made({{"truncation", nullptr}}).with_padding(Padding{});
  const NamedValues inputs = padded.inputs({"a", "a man is eating food.", {"a", "b"}});
  ASSERT_EQ(inputs.size(), 3u);
  const auto numbers = [&](const char* name) {
    const auto all = inputs.at(name).tensor().as<int64_t>();
    return std::vector<int64_t>(all.begin(), all.end());
  };
  EXPECT_EQ(inputs.at("input_ids").tensor().shape(), (Shape{3, 8}));
  EXPECT_EQ(numbers("input_ids")[0], 101);
  EXPECT_EQ(numbers("input_ids")[3], 0);
  EXPECT_EQ(numbers("attention_mask")[2], 1);
  EXPECT_EQ(numbers("attention_mask")[3], 0);
  EXPECT_EQ(numbers("token_type_ids")[16 + 3], 1);
  EXPECT_EQ(code_of([&] { padded.with_padding(std::nullopt).inputs({"a", "a b"}); }), Code::run_bad_shape);
  EXPECT_EQ(padded.inputs({}).at("input_ids").tensor().shape(), (Shape{0, 0}));
}

TEST(Tokenizer, IdsAndTokens) {
  const Tokenizer t = made({});
  EXPECT_EQ(t.id_of("[MASK]"), 103);
  EXPECT_EQ(t.token_of(103), "[MASK]");
  EXPECT_EQ(t.id_of("no such token"), std::nullopt);
  EXPECT_EQ(t.token_of(5), "");
  EXPECT_EQ(t.token_of(-1), "");
  EXPECT_EQ(t.size(), base().at("model").at("vocab").size());
  EXPECT_EQ(t.truncation()->max_length, 128);
  EXPECT_EQ(t.padding()->length, 128);
}

TEST(Tokenizer, OpensAFileOrItsDirectory) {
  EXPECT_EQ(Tokenizer::open(recorded).encode("a").ids,
            Tokenizer::open(recorded / "tokenizer.json").encode("a").ids);
  const TempDirectory folder;
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::file_not_found);
  const std::string said = sentence_of([&] { Tokenizer::open(folder.write("tokenizer.json", "{}")); });
  EXPECT_NE(said.find("tokenizer.json"), std::string::npos) << said;
}

// ── Faulty texts and requests

TEST(Tokenizer, Errors) {
  const Tokenizer t = made({{"padding", nullptr}, {"truncation", nullptr}});
  for (const char* bytes : {"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"})
    EXPECT_EQ(code_of([&] { t.encode(bytes); }), Code::wire_bad_utf8) << bytes;
  EXPECT_EQ(code_of([&] { t.encode({"a", "\xff"}); }), Code::wire_bad_utf8);
  EXPECT_EQ(code_of([&] { t.with_truncation(Truncation{.max_length = 1}).encode("a"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { t.with_truncation(Truncation{.max_length = -1}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { t.with_truncation(Truncation{.max_length = int64_t{1} << 40}); }),
            Code::bad_argument);
  using From = Truncation::From;
  EXPECT_EQ(code_of([&] {
              t.with_truncation(Truncation{3, From::only_second}).encode("a b c");
            }),
            Code::bad_argument);
  EXPECT_EQ(code_of([&] {
              t.with_truncation(Truncation{5, From::only_first}).encode({"a", "b c d"});
            }),
            Code::bad_argument);
  EXPECT_EQ(code_of([&] { t.with_padding(Padding{.token = "<pad>"}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { t.with_padding(Padding{.length = -1}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { t.with_padding(Padding{.multiple_of = int64_t{1} << 40}); }), Code::bad_argument);
  EXPECT_EQ(t.with_padding(Padding{.length = 4, .token = "<pad>", .id = 7}).encode("a").ids[3], 7);
  const Tokenizer without =
      made({{"model", {{"type", "WordPiece"}, {"vocab", {{"a", 0}}}}}, {"padding", nullptr}});
  EXPECT_EQ(without.encode("a", false).ids, std::vector<int64_t>{0});
  EXPECT_EQ(code_of([&] { without.encode("b"); }), Code::run_bad_value);
}

// ── Hostile files

struct Hostile {
  const char* name;
  Code code;
  Json changes;
};

TEST(HostileTokenizer, PartsThatAreWrong) {
  const Json vocab = {{"a", 0}};
  const auto model = [&](Json changes) {
    Json m = {{"type", "WordPiece"}, {"vocab", vocab}};
    m.update(changes);
    return Json{{"model", m}};
  };
  const auto templated = [](Json single, Json specials = Json::object()) {
    return Json{{"post_processor",
                 {{"type", "TemplateProcessing"},
                  {"single", single},
                  {"pair", Json::array()},
                  {"special_tokens", specials}}}};
  };
  const auto added = [](Json token) { return Json{{"added_tokens", Json::array({token})}}; };
  const auto padded = [](Json changes) {
    Json p = {{"strategy", "BatchLongest"}};
    p.update(changes);
    return Json{{"padding", p}};
  };
  const Json special = {{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}};
  const std::string long_token(8193, 'a');
  const std::vector<Hostile> all = {
      {"no model", Code::json_malformed, {{"model", nullptr}}},
      {"a list", Code::json_malformed, {{"model", Json::array()}}},
      {"no type", Code::json_malformed, model({{"type", nullptr}})},
      {"another model", Code::not_supported, model({{"type", "Words"}})},
      {"no vocabulary", Code::json_malformed, model({{"vocab", nullptr}})},
      {"a list of words", Code::json_malformed, model({{"vocab", {"a", "b"}}})},
      {"an id below 0", Code::json_malformed, model({{"vocab", {{"a", -1}}}})},
      {"a huge id", Code::json_malformed, model({{"vocab", {{"a", uint64_t{1} << 32}}}})},
      {"an id beyond 64 bits", Code::json_malformed, model({{"vocab", {{"a", 1e30}}}})},
      {"a broken id", Code::json_malformed, model({{"vocab", {{"a", 0.5}}}})},
      {"no id", Code::json_malformed, model({{"vocab", {{"a", nullptr}}}})},
      {"a long word", Code::wire_too_large, model({{"vocab", {{long_token, 0}}}})},
      {"a long prefix", Code::wire_too_large, model({{"continuing_subword_prefix", long_token}})},
      {"words without end", Code::json_malformed, model({{"max_input_chars_per_word", uint64_t{1} << 62}})},
      {"a number for a token", Code::json_malformed, model({{"unk_token", 3}})},
      {"another normalizer", Code::not_supported, {{"normalizer", {{"type", "NFKQ"}}}}},
      {"a normalizer by name", Code::json_malformed, {{"normalizer", "BertNormalizer"}}},
      {"a flag that is none",
       Code::json_malformed,
       {{"normalizer", {{"type", "BertNormalizer"}, {"lowercase", 1}}}}},
      {"normalizers without end",
       Code::wire_too_large,
       {{"normalizer", {{"type", "Sequence"}, {"normalizers", Json(65, {{"type", "Lowercase"}})}}}}},
      {"a sequence of another",
       Code::not_supported,
       {{"normalizer",
         {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}, {{"type", "NFKQ"}}}}}}}},
      {"another pre-tokenizer", Code::not_supported, {{"pre_tokenizer", {{"type", "BytesLevel"}}}}},
      {"another post-processor", Code::not_supported, {{"post_processor", {{"type", "Other"}}}}},
      {"no such special token", Code::json_malformed, templated({special})},
      {"more ids than tokens", Code::json_malformed,
       templated({special}, {{"x", {{"ids", {1, 2}}, {"tokens", {"x"}}}}})},
      {"a second text alone", Code::json_malformed, templated({{{"Sequence", {{"id", "B"}}}}})},
      {"a third text", Code::json_malformed, templated({{{"Sequence", {{"id", "C"}}}}})},
      {"neither text nor token", Code::json_malformed, templated({Json::object()})},
      {"a template of many pieces", Code::wire_too_large,
       templated(Json(257, {{"Sequence", {{"id", "A"}}}}))},
      {"half a pair",
       Code::json_malformed,
       {{"post_processor", {{"type", "BertProcessing"}, {"cls", {"a"}}}}}},
      {"an added token without id", Code::json_malformed, added({{"content", "a"}})},
      {"an added token of none", Code::json_malformed, added({{"id", 3}})},
      {"a long added token", Code::wire_too_large, added({{"id", 3}, {"content", long_token}})},
      {"padding to the end of memory", Code::json_malformed,
       padded({{"strategy", {{"Fixed", 1000000000000}}}})},
      {"padding to many of many", Code::json_malformed, padded({{"pad_to_multiple_of", 1000000000000}})},
      {"padding of no kind", Code::not_supported, padded({{"strategy", "Longest"}})},
      {"padding up and down", Code::not_supported, padded({{"direction", "Up"}})},
      {"truncation without length", Code::json_malformed, {{"truncation", {{"strategy", "LongestFirst"}}}}},
      {"truncation beyond", Code::json_malformed, {{"truncation", {{"max_length", uint64_t{1} << 63}}}}},
  };
  for (const Hostile& h : all) EXPECT_EQ(code_of([&] { made(h.changes); }), h.code) << h.name;
}

TEST(HostileTokenizer, Bytes) {
  const auto parsed = [](const std::string& text) { return code_of([&] { Tokenizer::parse(text); }); };
  EXPECT_EQ(parsed(""), Code::json_malformed);
  EXPECT_EQ(parsed("[]"), Code::json_malformed);
  EXPECT_EQ(parsed("null"), Code::json_malformed);
  EXPECT_EQ(parsed(std::string(100'000, '[')), Code::json_malformed);
  EXPECT_EQ(parsed(R"({"model": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
            Code::json_malformed);
  EXPECT_EQ(parsed("{\"model\": {\"type\": \"Word\xffPiece\"}}"), Code::json_malformed);
  EXPECT_EQ(parsed(std::string((64 << 20) + 1, ' ')), Code::wire_too_large);
  const std::string whole = base().dump();
  for (size_t cut = 0; cut < whole.size(); cut += 61)
    EXPECT_EQ(parsed(whole.substr(0, cut)), Code::json_malformed) << cut;
}

/// The text repeats a word of the vocabulary, or nearly one: neither takes time that grows with its square.
TEST(HostileTokenizer, LongTextsOfNearlyKnownWords) {
  Json vocab = {{"[UNK]", 0}, {"a", 1}, {"##a", 2}, {std::string(1000, 'a'), 3}};
  const Tokenizer t = made({{"model",
                             {{"type", "WordPiece"},
                              {"vocab", vocab},
                              {"unk_token", "[UNK]"},
                              {"max_input_chars_per_word", 1 << 20}}},
                            {"post_processor", nullptr},
                            {"truncation", nullptr},
                            {"padding", nullptr}});
  const Encoding e = t.encode(std::string(200'000, 'a'));
  EXPECT_EQ(e.size(), 1u + 200'000 - 1000);
  EXPECT_EQ(t.encode(std::string(200'000, 'a') + "b").ids, std::vector<int64_t>{0});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
