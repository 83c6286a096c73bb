// Tokenizers of vocabularies without a description of their steps: the metadata of GGUF.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lathe/gguf.h"
#include "lathe/tokenizer.h"

namespace lathe::text {

/// A vocabulary by positions, which are ids. The names of its fields in GGUF: tokenizer.ggml.*.
struct PlainVocabulary {
  enum class Kind : uint8_t {
    scored_bpe,      // "llama": SentencePiece's BPE, which merges by the scores of what comes out
    byte_level_bpe,  // "gpt2": merges of letters that stand for bytes
    unigram,         // "t5": SentencePiece's unigram
    word_piece       // "bert": words in lower case; tokens that begin one have U+2581 in front
  };
  enum class Type : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  Kind kind = Kind::byte_level_bpe;
  std::vector<std::string> tokens;
  std::vector<float> scores;                   // as many as tokens; none for byte_level_bpe
  std::vector<int32_t> types;                  // as many as tokens, or none: all are normal
  std::vector<std::string> merges;             // "a b"; byte_level_bpe
  std::string pre;                             // how texts are split; byte_level_bpe; empty: "default"
  std::string charsmap;                        // SentencePiece's table of what replaces what; empty: none
  std::optional<int64_t> begin, end, unknown;  // special tokens
  std::optional<bool> add_begin, add_end;      // put them around texts; nothing: as the kind does
  std::optional<bool> add_space_prefix;        // a space in front of texts; nothing: as the kind does
  std::optional<bool> remove_extra_spaces;     // unigram; nothing: as the kind does
};

/// Makes a tokenizer; errors name `origin`. Throws json_malformed for fields that do not fit each other, for
/// ids out of range and for merges of what the vocabulary lacks, not_supported for an unknown `pre`,
/// wire_too_large for tokens of more than 8192 bytes, 1024 for scored_bpe, and for more merges than 2^23.
Tokenizer make_tokenizer(PlainVocabulary v, std::string origin);

/// What BERT's own vocabulary puts in front of tokens that begin no word, and how many characters a word of
/// it has at most.
constexpr const char* continuing_prefix = "##";
constexpr size_t longest_bert_word = 100;
/// Returns the tokens of a word_piece vocabulary as BERT's own vocabulary has them. Names in brackets stay.
std::vector<std::string> bert_words(const PlainVocabulary& v);

/// Reads what GGUF says of its vocabulary. Throws not_supported for another kind of vocabulary, bad_argument
/// for keys that are absent or have other types.
PlainVocabulary read_gguf_vocabulary(const Gguf& file);

}  // namespace lathe::text

namespace lathe {

/// Makes tokenizers of their parts.
struct TokenizerMaker {
  using State = Tokenizer::State;
  static Tokenizer of(std::shared_ptr<State> s);
};

}  // namespace lathe
