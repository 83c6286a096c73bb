#include "fuzz/tokenizer_check.h"
#include "text/sentence_piece.h"

namespace lathe::fuzz {

/// The bytes are a text and a model. It gives the text's tokens, and decodes ids that the text's bytes say.
void sentencepiece(Bytes data) {
  const TextAndFile given(data);
  code_of([&] {
    text::SentencePieceUse use;
    use.prefix_once = given.choice & 1;
    const Tokenizer t = text::make_tokenizer(text::read_sentence_piece(given.file, "fuzz"), use, "fuzz");
    check_tokenizer(t, given.text);
    std::vector<int64_t> ids;
    for (char c : given.text) ids.push_back(static_cast<unsigned char>(c));
    check_decoding(t, ids, given.choice & 2);
  });
}

}  // namespace lathe::fuzz
