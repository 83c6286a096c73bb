// Tokenizers of other files than tokenizer.json: SentencePiece, ranks, GGUF, and folders of them.
#include <gtest/gtest.h>

#include "lathe/error.h"
#include "lathe/gguf.h"
#include "lathe/tokenizer.h"
#include "support/error_code.h"
#include "support/gguf_file.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
using Ids = std::vector<int64_t>;

std::string field(int number, std::string_view bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
         std::string(bytes);
}
/// A number of a field below 16, or of one beyond.
std::string number(int of, int value) {
  std::string tag(1, static_cast<char>(of < 16 ? of << 3 : ((of << 3) & 0x7f) | 0x80));
  if (of >= 16) tag += static_cast<char>(of >> 4);
  return tag + static_cast<char>(value);
}
std::string piece(std::string_view text, float score, int type = 1) {
  std::string bytes(4, '\0');
  __builtin_memcpy(bytes.data(), &score, 4);
  return field(1, field(1, text) + "\x15" + bytes + number(3, type));
}
/// <unk> <s> </s> ▁ a b ab ▁ab <m>, of this type.
std::string model(int kind, const std::string& normalizer = "") {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("▁", -4) + piece("a", -4) +
         piece("b", -5) + piece("ab", -2) + piece("▁ab", -3) + piece("<m>", 0, 4) +
         field(2, number(3, kind)) + field(3, normalizer);
}

TEST(TokenizerFiles, SentencePiece) {
  const TempDirectory folder;
  for (int kind : {1, 2}) {
    const Tokenizer t = Tokenizer::open(folder.write("x.model", model(kind)));
    EXPECT_EQ(t.encode("  ab  ab ").ids, (Ids{7, 7})) << kind;
    EXPECT_EQ(t.encode("ab<m>ab").ids, (Ids{7, 8, 6})) << kind;
    EXPECT_EQ(t.encode("a<s>").ids, (Ids{3, 4, 0})) << kind;  // control pieces are in no text
    EXPECT_EQ(t.encode(" ").ids, Ids{}) << kind;
    EXPECT_EQ(t.encode("b ab").offsets.back(), (std::pair<size_t, size_t>{1, 4})) << kind;
    EXPECT_EQ(t.decode(Ids{1, 7, 0, 7, 2}), "ab \xe2\x81\x87  ab") << kind;
    EXPECT_EQ(t.decode(Ids{7, 2}, false), "ab</s>") << kind;
  }
  const Tokenizer characters = Tokenizer::open(folder.write("x.model", model(4)));
  EXPECT_EQ(characters.encode("ab").ids, (Ids{3, 4, 5}));
  const Tokenizer words = Tokenizer::open(folder.write("x.model", model(3)));
  EXPECT_EQ(words.encode("ab x").ids, (Ids{7, 0}));
  const Tokenizer bare =
      Tokenizer::open(folder.write("x.model", model(2, number(3, 0) + number(4, 0) + number(5, 1))));
  EXPECT_EQ(bare.encode("ab  ab").ids, (Ids{6, 3, 7}));
  EXPECT_EQ(bare.decode(Ids{7, 7}), " ab ab");
}

TEST(TokenizerFiles, SentencePieceInAFolder) {
  const TempDirectory folder;
  folder.write("tokenizer.model", model(2));
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("ab").ids, Ids{7});
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "added_tokens_decoder":
               {"1": {"content": "<s>", "special": true}, "9": {"content": "<end>", "special": true}}})");
  const Tokenizer t = Tokenizer::open(folder.path());
  EXPECT_EQ(t.encode("ab<end>ab").ids, (Ids{1, 7, 9, 7}));
  EXPECT_EQ(t.decode(Ids{1, 7, 9}, false), "<s> ab<end>");
  EXPECT_EQ(t.size(), 10u);
  const auto code = [&](const char* config) {
    folder.write("tokenizer_config.json", config);
    return code_of([&] { Tokenizer::open(folder.path()); });
  };
  EXPECT_EQ(code(R"({"tokenizer_class": "XLMRobertaTokenizer"})"), Code::not_supported);
  EXPECT_EQ(code(R"({"added_tokens_decoder": {"4": {"content": "<end>"}}})"), Code::json_malformed);
  EXPECT_EQ(code(R"({"added_tokens_decoder": {"x": {"content": "<end>"}}})"), Code::json_malformed);
}

TEST(TokenizerFiles, FaultySentencePiece) {
  const TempDirectory folder;
  const auto code = [&](const std::string& bytes) {
    return code_of([&] { Tokenizer::open(folder.write("x.model", bytes)); });
  };
  const std::string whole = model(2);
  EXPECT_EQ(code(whole.substr(0, 20)), Code::wire_malformed);
  EXPECT_EQ(code(whole + piece("a", 0)), Code::json_malformed);
  EXPECT_EQ(code(whole + piece("<0x00>", 0, 6)), Code::json_malformed);
  EXPECT_EQ(code(whole + piece("", 0)), Code::json_malformed);
  EXPECT_EQ(code(whole + piece("x", 0, 2)), Code::json_malformed);
  EXPECT_EQ(code(whole + piece("x", 0.f / 0.f)), Code::json_malformed);
  EXPECT_EQ(code(whole + piece("\xff", 0)), Code::wire_bad_utf8);
  EXPECT_EQ(code(whole + field(2, number(35, 1))), Code::json_malformed);
  EXPECT_EQ(code(whole + field(2, number(3, 9))), Code::json_malformed);
  EXPECT_EQ(code(whole + field(3, field(2, "\xff\xff\xff\x7f"))), Code::json_malformed);
  EXPECT_EQ(code(whole + field(5, field(2, "abcd"))), Code::not_supported);
  EXPECT_EQ(code(piece("a", 0)), Code::json_malformed);
}

std::string base64(std::string_view bytes) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t v = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) v = v << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? letters[v >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

TEST(TokenizerFiles, Ranks) {
  const TempDirectory folder;
  std::string ranks;
  for (int b = 0; b < 256; ++b)
    ranks += base64(std::string(1, static_cast<char>(b))) + " " + std::to_string(b) + "\n";
  ranks += base64("bc") + " 256\n" + base64("ab") + " 257\n" + base64("xyz") + " 258\n";
  const Tokenizer t = Tokenizer::open(folder.write("cl100k_base.tiktoken", ranks));
  EXPECT_EQ(t.encode("abc").ids, (Ids{97, 256}));
  EXPECT_EQ(t.encode("xyz").ids, Ids{258});  // no pair makes it, but the word is a token
  EXPECT_EQ(t.encode("é<|endoftext|>").ids, (Ids{0xc3, 0xa9, 100257}));
  EXPECT_EQ(t.decode(Ids{97, 256, 100257}), "abc");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("abc").ids, (Ids{97, 256}));
  const auto other = folder.write("other.tiktoken", ranks);
  EXPECT_EQ(code_of([&] { Tokenizer::open(other); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::bad_argument);  // two files
  EXPECT_EQ(Tokenizer::open(other, {.encoding = "o200k_base"}).encode("<|endofprompt|>").ids, Ids{200018});
  const Tokenizer own = Tokenizer::open(other, {.pattern = "a|[^a]+", .special_tokens = {{"<x>", 300}}});
  EXPECT_EQ(own.encode("abc<x>").ids, (Ids{97, 256, 300}));
  EXPECT_EQ(code_of([&] { Tokenizer::open(other, {.pattern = "("}); }), Code::not_supported);
  EXPECT_EQ(code_of([&] {
              Tokenizer::open(other, {.pattern = "a", .special_tokens = {{"<x>", 97}}});
            }),
            Code::json_malformed);
  const auto code = [&](const std::string& bytes) {
    return code_of([&] { Tokenizer::open(folder.write("gpt2.tiktoken", bytes)); });
  };
  EXPECT_EQ(code("YQ== 0\n"), Code::json_malformed);
  EXPECT_EQ(code(ranks + "YQ 999\n"), Code::json_malformed);
  EXPECT_EQ(code(ranks + "YWJj\n"), Code::json_malformed);
  EXPECT_EQ(code(ranks + "YQ== 999\n"), Code::json_malformed);
  EXPECT_EQ(code(ranks + "YWJj 0\n"), Code::json_malformed);
  EXPECT_EQ(code(ranks + base64(std::string(1025, 'a')) + " 999\n"), Code::wire_too_large);
}

std::string texts(const std::vector<std::string>& all) {
  std::string bytes;
  for (const std::string& s : all) bytes += gguf_string(s);
  return gguf_array(GgufValueType::string, all.size(), bytes);
}
std::string types(const std::vector<int>& all) {
  std::string bytes;
  for (int t : all) bytes += little(static_cast<uint64_t>(t), 4);
  return gguf_array(GgufValueType::int32, all.size(), bytes);
}

TEST(TokenizerFiles, Gguf) {
  const TempDirectory folder;
  const auto open = [&](const GgufFile& f) { return Tokenizer::open(folder.write("x.gguf", f.bytes())); };
  GgufFile bpe;
  bpe.with("tokenizer.ggml.model", gguf_text("gpt2"));
  bpe.with("tokenizer.ggml.tokens", texts({"a", "b", "ab", "<s>", "<u>"}));
  bpe.with("tokenizer.ggml.token_type", types({1, 1, 1, 3, 4}));
  bpe.with("tokenizer.ggml.merges", texts({"a b"}));
  bpe.with("tokenizer.ggml.bos_token_id", gguf_u32(3));
  GgufFile named = bpe;
  EXPECT_EQ(open(named.with("tokenizer.ggml.pre", gguf_text("llama-bpe"))).encode("ab<u>").ids,
            (Ids{3, 2, 4}));
  named = bpe;
  EXPECT_EQ(open(named.with("tokenizer.ggml.pre", gguf_text("smollm"))).encode("ab<s>").ids, (Ids{2, 3}));
  EXPECT_EQ(Tokenizer::from_gguf(Gguf::open(folder / "x.gguf")).decode(Ids{2, 3, 4}), "ab<u>");
  named = bpe;
  named.with("tokenizer.ggml.pre", gguf_text("mine"));
  const std::string said = sentence_of([&] { open(named); });
  EXPECT_NE(said.find("smollm, starcoder"), std::string::npos) << said;
  EXPECT_EQ(code_of([&] { open(GgufFile()); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { open(GgufFile().with("tokenizer.ggml.model", gguf_text("rwkv"))); }),
            Code::not_supported);
  GgufFile bert;
  bert.with("tokenizer.ggml.model", gguf_text("bert"));
  bert.with("tokenizer.ggml.tokens", texts({"[CLS]", "[SEP]", "[UNK]", "▁eat", "ing", "▁!"}));
  bert.with("tokenizer.ggml.token_type", types({3, 3, 3, 1, 1, 1}));
  EXPECT_EQ(open(bert).encode("Eating! x").ids, (Ids{0, 3, 4, 5, 2, 1}));
  EXPECT_EQ(open(bert).decode(Ids{3, 4, 5}), "eating!");
}

TEST(TokenizerFiles, AnEmptyFolderSaysWhatItLacks) {
  const TempDirectory folder;
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::file_not_found);
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.write("t.json", "{}"), {.encoding = "gpt2"}); }),
            Code::bad_argument);
  folder.write("vocab.json", R"({"a": 0, "<s>": 1, "</s>": 2})");
  folder.write("merges.txt", "");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("a").ids, (Ids{1, 0, 2}));
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  EXPECT_EQ(code_of([&] { Tokenizer::open(folder.path()); }), Code::not_supported);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
