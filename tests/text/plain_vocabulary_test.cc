// Tokenizers of bare vocabularies: as GGUF has them, and vocab.json with merges.txt.
#include "text/plain_vocabulary.h"

#include <gtest/gtest.h>

#include "lathe/error.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
using text::make_tokenizer;
using text::PlainVocabulary;
using Ids = std::vector<int64_t>;

PlainVocabulary scored() {
  PlainVocabulary v;
  v.kind = PlainVocabulary::Kind::scored_bpe;
  v.tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "b", "▁a", "ab", "▁ab", "<m>"};
  v.scores = {0, 0, 0, 0, 0, -5, -6, -7, -2, -1, -3, 0};
  v.types = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 4};
  v.begin = 1, v.end = 2, v.unknown = 0;
  return v;
}

TEST(PlainVocabulary, ScoredBpe) {
  const Tokenizer t = make_tokenizer(scored(), "x.gguf");
  EXPECT_EQ(t.encode("ab").ids, (Ids{1, 10}));  // a b first, by its score, then ▁ ab
  EXPECT_EQ(t.encode("é").ids, (Ids{1, 5, 3, 4}));
  EXPECT_EQ(t.encode("x").ids, (Ids{1, 5, 0}));
  EXPECT_EQ(t.encode("a<m>b").ids, (Ids{1, 8, 11, 5, 7}));  // the space is put in front again
  EXPECT_EQ(t.encode("").ids, Ids{1});
  EXPECT_EQ(t.encode("<s>", false).ids, Ids{1});
  EXPECT_EQ(t.decode(Ids{1, 10, 5, 3, 4}), "ab é");
  PlainVocabulary v = scored();
  v.add_begin = false, v.add_end = true, v.add_space_prefix = false;
  EXPECT_EQ(make_tokenizer(v, "x").encode("ab").ids, (Ids{9, 2}));
  // Of equal scores the leftmost pair goes first.
  v.tokens = {"<unk>", "a", "aa", "b", "ab"}, v.scores = {0, -9, -1, -9, -1}, v.types.clear();
  v.begin = v.end = std::nullopt;
  EXPECT_EQ(make_tokenizer(v, "x").encode("aab").ids, (Ids{2, 3}));
}

TEST(PlainVocabulary, ByteLevelSplitsByName) {
  PlainVocabulary v;
  v.tokens = {"1", "2", "3", "4", "12", "123", "1234", "Ġ", "<e>"};
  v.types = {1, 1, 1, 1, 1, 1, 1, 1, 3};
  v.merges = {"1 2", "12 3", "123 4"};
  v.begin = 8;
  const auto ids = [&](const char* pre) {
    v.pre = pre;
    return make_tokenizer(v, "x").encode("1234").ids;
  };
  EXPECT_EQ(ids("gpt-2"), Ids{6});
  EXPECT_EQ(ids("default"), (Ids{5, 3}));
  EXPECT_EQ(ids("llama-bpe"), (Ids{8, 5, 3}));
  EXPECT_EQ(ids("qwen2"), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(ids("smollm"), (Ids{0, 1, 2, 3}));
  for (const char* pre : {"tekken", "gpt-4o", "deepseek-v3"}) EXPECT_FALSE(ids(pre).empty()) << pre;
  EXPECT_EQ(code_of([&] { ids("mine"); }), Code::not_supported);
}

TEST(PlainVocabulary, FaultyFields) {
  const auto code = [](auto change) {
    PlainVocabulary v = scored();
    change(v);
    return code_of([&] { make_tokenizer(v, "x"); });
  };
  EXPECT_EQ(code([](PlainVocabulary& v) { v.tokens.clear(); }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.scores.pop_back(); }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.types.pop_back(); }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.begin = 12; }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.unknown = -1; }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.scores[3] = 0.f / 0.f; }), Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) {
              v.kind = PlainVocabulary::Kind::unigram, v.charsmap = "\xff\xff\xff\x7f";
            }),
            Code::json_malformed);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.tokens[5] = "\xff"; }), Code::wire_bad_utf8);
  EXPECT_EQ(code([](PlainVocabulary& v) { v.tokens[5].assign(8193, 'a'); }), Code::wire_too_large);
  EXPECT_EQ(code([](PlainVocabulary& v) {
              v.kind = PlainVocabulary::Kind::byte_level_bpe;
              v.merges = {"a x"};
            }),
            Code::json_malformed);
}

TEST(PlainVocabulary, VocabularyAndMergesBesideEachOther) {
  const TempDirectory folder;
  folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<|endoftext|>": 4})");
  folder.write("merges.txt", "#version: 0.2\na b\r\n\n");
  const Tokenizer t = Tokenizer::open(folder.path());
  EXPECT_EQ(t.encode("ab ab<|endoftext|>").ids, (Ids{2, 3, 2, 4}));
  EXPECT_EQ(t.decode(Ids{2, 3, 2, 4}), "ab ab");
  folder.write("merges.txt", "a c\n");
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::json_malformed);
  folder.write("merges.txt", "ab");
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::json_malformed);
  folder.write("vocab.json", "[]");
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::json_malformed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
