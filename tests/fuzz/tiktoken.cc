#include "text/tiktoken.h"

#include "fuzz/tokenizer_check.h"

namespace lathe::fuzz {
namespace {

/// Lines for all single bytes, which any file of ranks must have.
const std::string& single_bytes() {
  static const std::string lines = [] {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string all;
    for (size_t b = 0; b < 256; ++b) {
      all += letters[b / 4];
      all += letters[b % 4 * 16];
      all += "== " + std::to_string(b) + "\n";
    }
    return all;
  }();
  return lines;
}

}  // namespace

/// The bytes are a text and ranks, in front of which the lines for single bytes may stand already.
void tiktoken(Bytes data) {
  const TextAndFile given(data);
  const std::string file = (given.choice & 1 ? single_bytes() : std::string()) + std::string(given.file);
  code_of([&] {
    const auto encoding = text::tiktoken_encoding(given.choice & 2 ? "o200k_base" : "gpt2");
    const Tokenizer t = text::read_ranks(file, *encoding, "fuzz");
    check_tokenizer(t, given.text);
    Encoding e;
    if (code_of([&] { e = t.encode(given.text); }) == Code::none)
      require(t.decode(e.ids, false) == given.text, "ranks keep every byte");
  });
}

}  // namespace lathe::fuzz
