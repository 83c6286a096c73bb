// Converts texts to tokens and tokens to texts, as the file says that accompanies a model: tokenizer.json of
// Hugging Face, SentencePiece's .model, tiktoken's ranks, the metadata of GGUF.
//
//   auto tokenizer = lathe::Tokenizer::open("checkpoint").with_padding(lathe::Padding{});
//   auto outputs = context.run(tokenizer.inputs({"a sentence", "another one"}));
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/export.h"
#include "lathe/io_info.h"

namespace lathe {

class Gguf;

/// Says what a file of ranks (tiktoken) leaves open; other files take none of it. tiktoken: Encoding.
struct TokenizerOptions {
  /// Name of tiktoken's encoding: cl100k_base, gpt2, o200k_base, o200k_harmony, p50k_base, p50k_edit,
  /// r50k_base; or qwen. Empty: the name of the file, without ".tiktoken".
  std::string encoding = {};
  /// Regular expression that splits texts, as tiktoken's pat_str; empty: that of the encoding.
  std::string pattern = {};
  std::map<std::string, int64_t> special_tokens = {};  // special tokens and their ids, beside `pattern`
};

/// Selects how texts that are too long are cut. transformers: truncation.
struct Truncation {
  enum class From : uint8_t { longest_first, only_first, only_second };  // selects which of two texts is cut
  int64_t max_length = 512;         // tokens that remain, special ones included
  From from = From::longest_first;  // which of two texts is cut
  bool left = false;                // cut tokens from the beginning, not from the end
};

/// Selects how texts that are too short are padded. transformers: padding.
struct Padding {
  int64_t length = 0;              // tokens; 0: as many as the longest text of a batch has
  int64_t multiple_of = 0;         // rounds the length up to a multiple; 0: it stays
  std::string token = "[PAD]";     // padding token
  std::optional<int64_t> id = {};  // its id; nothing: the one that the vocabulary has for it
  int64_t type_id = 0;             // token type of padding
  bool left = false;               // pad in front, not behind
};

/// One text, or two that belong together: a question and its context, a sentence and what may follow it.
struct TextInput {
  /// Makes one text, or two.
  TextInput(const char* text) : text(text) {}
  TextInput(std::string_view text) : text(text) {}
  TextInput(std::string text) : text(std::move(text)) {}
  TextInput(std::string text, std::string pair) : text(std::move(text)), pair(std::move(pair)) {}
  std::string text;                      // the first text, UTF-8
  std::optional<std::string> pair = {};  // the second text; nothing: there is none
};

/// One text, or two, as tokens; all lists have the same length. transformers: BatchEncoding.
struct Encoding {
  std::vector<int64_t> ids;             // ids of the tokens
  std::vector<int64_t> type_ids;        // 0, and 1 for tokens of the second of two texts
  std::vector<int64_t> attention_mask;  // 1, and 0 for padding
  std::vector<std::string> tokens;      // texts of the tokens
  /// Source of each token: bytes [first, second) of the text that `sequence` names. Special tokens come from
  /// [0, 0).
  std::vector<std::pair<size_t, size_t>> offsets;
  std::vector<int> sequence;          // text of each token: 0 or 1; -1: a special token or padding
  std::vector<int64_t> special_mask;  // 1 for tokens that the tokenizer added, 0 for those found in a text

  /// Returns the number of tokens.
  size_t size() const { return ids.size(); }
};

/// Converts tokens to text, one after the other, as a model generates them: each call returns the text that
/// is complete by then, never a part of a character, and all of it together is what Tokenizer::decode()
/// returns. Movable; not thread-safe; keeps the tokenizer alive. tokenizers: DecodeStream.
class LATHE_API DecodeStream {
 public:
  /// Takes over the state of another stream, which can then only be destroyed or assigned to.
  DecodeStream(DecodeStream&&) noexcept;
  /// Takes over the state of another stream.
  DecodeStream& operator=(DecodeStream&&) noexcept;
  /// Drops what is not complete.
  ~DecodeStream();

  /// Appends a token and returns the text that is complete by now; ids without a token add nothing. Throws
  /// bad_argument after finish(), and run_too_large as Tokenizer::encode() does.
  std::string append(int64_t id);
  /// Ends the stream and returns the rest: bytes that did not become a character are U+FFFD.
  std::string finish();

 private:
  friend class Tokenizer;
  struct State;
  explicit DecodeStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Converts texts to tokens. Immutable; copies share the vocabulary; thread-safe.
///
/// The results are those of the library that a file belongs to: for tokenizer.json those of `tokenizers`, and
/// with it of transformers, characters of each version of Unicode included that its parts follow.
class LATHE_API Tokenizer {
 public:
  /// Opens a file or a directory. What a file is its contents say: tokenizer.json; a .model of SentencePiece;
  /// tiktoken's ranks; GGUF. In a directory the first of these counts: tokenizer.json; vocab.json with
  /// merges.txt; tokenizer.model, spiece.model, sentencepiece.bpe.model, sentencepiece.model; one *.tiktoken.
  /// tokenizer_config.json and added_tokens.json beside all but the first add their tokens.
  ///
  /// Throws file_not_found, file_not_regular, file_unreadable; json_malformed for what is no tokenizer.json
  /// (also for nesting beyond 64 and numbers out of range) and for vocabularies that contradict themselves;
  /// wire_malformed for a .model that is none and what Gguf::open() throws; wire_bad_utf8 for tokens;
  /// wire_too_large for more than 64 MiB, tokens of more than 8192 bytes (1024 where ranks or scores say what
  /// merges, and then for more than 2^23 merges), sequences of more than 64 parts or nested more than 8 deep,
  /// templates of more than 256 pieces, lengths beyond 1048576; not_supported for kinds of parts, of GGUF's
  /// vocabularies and splits, and of tokenizer_class that there are not, with those that there are, for
  /// dropout, for a denormalizer, and for regular expressions beyond the syntax that the reference describes;
  /// bad_argument for options that the file does not take, and for ranks whose encoding nothing names.
  static Tokenizer open(const std::filesystem::path& path, const TokenizerOptions& options = {});
  /// Takes the vocabulary that a GGUF file has in its metadata. Throws as open() does; bad_argument for a
  /// file without one.
  static Tokenizer from_gguf(const Gguf& file);
  /// Reads JSON text; errors name `origin` in the place of a file. Throws as open() does.
  static Tokenizer parse(std::string_view json, std::string origin = "tokenizer.json");

  /// Returns the truncation in use: tokenizer.json's, or that of with_truncation().
  const std::optional<Truncation>& truncation() const;
  /// Returns the padding in use: tokenizer.json's, or that of with_padding().
  const std::optional<Padding>& padding() const;
  /// Returns a tokenizer with another truncation, or none. Throws bad_argument for lengths below 0 or beyond
  /// 1048576.
  Tokenizer with_truncation(std::optional<Truncation> t) const;
  /// Returns a tokenizer with another padding, or none. Throws as with_truncation() does, and bad_argument
  /// for a padding token without an id of its own that is not in the vocabulary.
  Tokenizer with_padding(std::optional<Padding> p) const;

  /// Converts one text, or two; padded only to a fixed length. Throws wire_bad_utf8 for a text that is not
  /// UTF-8, bad_argument where the maximal length is too small for special tokens or for what may not be cut,
  /// run_bad_value for an unknown word where the vocabulary lacks the unknown token, run_too_large for a text
  /// of 2 GiB and for a regular expression that takes more than 1048576 steps and 256 for each byte.
  Encoding encode(const TextInput& text, bool special_tokens = true) const;
  /// Converts several texts and pads them to one length where there is padding. Throws as encode() does.
  std::vector<Encoding> encode_batch(const std::vector<TextInput>& texts, bool special_tokens = true) const;
  /// Returns the inputs of models: input_ids, attention_mask and token_type_ids, int64 [texts, tokens].
  /// Throws as encode_batch() does, and run_bad_shape for texts of different lengths without padding.
  NamedValues inputs(const std::vector<TextInput>& texts, bool special_tokens = true) const;

  /// Converts tokens to text; ids that no token has are left out, and so are special added tokens unless the
  /// caller wants them. Bytes that are no text become U+FFFD. Throws run_too_large as encode() does.
  std::string decode(std::span<const int64_t> ids, bool skip_special_tokens = true) const;
  /// Converts several lists of tokens to texts. Throws as decode() does.
  std::vector<std::string> decode_batch(const std::vector<std::vector<int64_t>>& ids,
                                        bool skip_special_tokens = true) const;
  /// Returns a stream that converts tokens to text one by one.
  DecodeStream decode_stream(bool skip_special_tokens = true) const;

  /// Returns the number of tokens that have an id, added ones included.
  size_t size() const;
  /// Returns the id of a token; nothing where there is none. Added tokens go before the vocabulary.
  std::optional<int64_t> id_of(std::string_view token) const;
  /// Returns the token of an id; empty where no token has it.
  std::string_view token_of(int64_t id) const;

 private:
  friend struct TokenizerMaker;
  friend class DecodeStream;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
};

}  // namespace lathe
