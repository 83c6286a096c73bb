// The tokenizer.json that is written of a vocabulary makes the tokens that the vocabulary makes itself.
#include "text/tokenizer_document.h"

#include <gtest/gtest.h>

#include "lathe/error.h"
#include "support/error_code.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
using text::make_tokenizer;
using text::PlainVocabulary;
using text::tokenizer_document;

void expect_same(const PlainVocabulary& v, const std::vector<const char*>& texts) {
  const Tokenizer want = make_tokenizer(v, "x"), got = Tokenizer::parse(tokenizer_document(v, "x"));
  for (const char* text : texts)
    for (const bool special : {true, false}) {
      const std::vector<int64_t> ids = want.encode(text, special).ids;
      EXPECT_EQ(got.encode(text, special).ids, ids) << text;
      EXPECT_EQ(got.decode(ids), want.decode(ids)) << text;
    }
  EXPECT_EQ(got.encode(TextInput("a", "ab")).ids, want.encode(TextInput("a", "ab")).ids);
}

PlainVocabulary scored() {
  PlainVocabulary v;
  v.kind = PlainVocabulary::Kind::scored_bpe;
  v.tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "b", "▁a", "ab", "▁ab", "<m>"};
  v.scores = {0, 0, 0, 0, 0, -5, -6, -7, -2, -1, -3, 0};
  v.types = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 4};
  v.begin = 1, v.end = 2, v.unknown = 0;
  return v;
}

TEST(TokenizerDocument, ScoredBpe) {
  PlainVocabulary v = scored();
  expect_same(v, {"ab", "é", "x", "a<m>b", "", "<s>", "  aab ba"});
  v.add_begin = false, v.add_end = true, v.add_space_prefix = false;
  expect_same(v, {"ab", "a<m>b", " ab", "<s>a"});
}

PlainVocabulary unigram() {
  PlainVocabulary v;
  v.kind = PlainVocabulary::Kind::unigram;
  v.tokens = {"<pad>", "</s>", "<unk>", "▁", "a", "b", "▁a", "ab", "▁ab", "<m>", "abm"};
  v.scores = {0, 0, 0, -5, -6, -7, -2, -1, -3, 0, 0};
  v.types = {3, 3, 2, 1, 1, 1, 1, 1, 1, 4, 4};
  v.end = 1, v.unknown = 2;
  return v;
}

TEST(TokenizerDocument, Unigram) {
  const auto texts = {"ab",       "é",     "x",     "a<m>b", "",       "<pad>",  "  aab ba ",      "\tab\n",
                      "xx<unk>y", "abm a", " a  b", "a▁",    "▁ a ▁▁", "a\nb  ", "a</s> b <m> ab", "▁"};
  PlainVocabulary v = unigram();
  expect_same(v, texts);
  v.add_space_prefix = false;
  expect_same(v, texts);
  v.remove_extra_spaces = false, v.add_end = false;
  expect_same(v, texts);
  v.add_space_prefix.reset();
  v.begin = 0, v.add_begin = true;
  expect_same(v, texts);
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    v.tokens.emplace_back(name), v.scores.push_back(0), v.types.push_back(6);
  }
  expect_same(v, texts);
  v.types[4] = 5;
  EXPECT_EQ(code_of([&] { tokenizer_document(v, "x"); }), Code::not_supported);
  v.types[4] = 1, v.tokens[10] = "a b";
  EXPECT_EQ(code_of([&] { tokenizer_document(v, "x"); }), Code::not_supported);
}

TEST(TokenizerDocument, WordPiece) {
  PlainVocabulary v;
  v.kind = PlainVocabulary::Kind::word_piece;
  v.tokens = {"[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁ab", "▁[", "[MASK]", "▁,"};
  v.types = {3, 1, 3, 3, 3, 1, 1, 1, 1, 3, 1};
  v.begin = 3, v.end = 4, v.unknown = 2;
  EXPECT_EQ(make_tokenizer(v, "x").encode("Abb a, [x").ids, (std::vector<int64_t>{3, 7, 6, 5, 10, 8, 2, 4}));
  EXPECT_EQ(make_tokenizer(v, "x").decode(std::vector<int64_t>{1}), "[unused0]");
  const char* texts[] = {"ab", "Ább [MASK]a", "[unused0]", "", "a , b", "[UNK] ab\n"};
  for (const auto& [begins, ends] : {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    v.add_begin = begins, v.add_end = ends;
    for (const char* text : texts) expect_same(v, {text});
  }
  v.add_begin = v.add_end = true;
  EXPECT_EQ(Tokenizer::parse(tokenizer_document(v, "x")).encode(TextInput("a", "ab")).type_ids,
            make_tokenizer(v, "x").encode(TextInput("a", "ab")).type_ids);
  v.unknown.reset();
  EXPECT_EQ(code_of([&] { tokenizer_document(v, "x"); }), Code::json_malformed);
}

TEST(TokenizerDocument, ByteLevelSplitsByName) {
  PlainVocabulary v;
  v.tokens = {"1", "2", "3", "4", "12", "123", "1234", "Ġ", "<e>", "a", "b", "ab", "ĠĠ", "Ċ", "'"};
  v.types = {1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1};
  v.merges = {"1 2", "12 3", "123 4", "a b", "Ġ Ġ"};
  v.begin = 8;
  for (const char* pre : {"", "gpt-2", "llama-bpe", "qwen2", "smollm", "tekken", "gpt-4o", "deepseek-v3",
                          "glm4", "qwen35", "bailingmoe", "seed-coder"}) {
    v.pre = pre;
    expect_same(v, {"1234", "ab  ab", "   12 \n ab<e>b", "a'b 1 2", ""});
  }
  v.pre = "mine";
  EXPECT_EQ(code_of([&] { tokenizer_document(v, "x"); }), Code::not_supported);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
