// Texts to tokens, as the tokenizer.json of a Hugging Face model describes it: WordPiece, the tokens of BERT
// and its relatives.
//
//   auto tokenizer = lathe::Tokenizer::open("checkpoint").with_padding(lathe::Padding{});
//   auto outputs = context.run(tokenizer.inputs({"a sentence", "another one"}));
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/engine.h"
#include "lathe/export.h"

namespace lathe {

/// What is cut from texts that are too long.
struct Truncation {
  enum class From : uint8_t { longest_first, only_first, only_second };
  int64_t max_length = 512;         // tokens, special ones too
  From from = From::longest_first;  // of a pair
  bool left = false;                // tokens go from the beginning, not from the end
};

/// What is put behind texts that are too short.
struct Padding {
  int64_t length = 0;       // 0: as long as the longest of a batch
  int64_t multiple_of = 0;  // 0: of any length
  std::string token = "[PAD]";
  std::optional<int64_t> id = {};  // nothing: the token's
  int64_t type_id = 0;
  bool left = false;  // in front of them
};

/// A text, or two that belong together: a question and where its answer is, a sentence and what may follow.
struct TextInput {
  TextInput(const char* text) : text(text) {}
  TextInput(std::string_view text) : text(text) {}
  TextInput(std::string text) : text(std::move(text)) {}
  TextInput(std::string text, std::string pair) : text(std::move(text)), pair(std::move(pair)) {}
  std::string text;
  std::optional<std::string> pair = {};
};

/// One text as tokens; all lists are of the same length.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;        // 0, and 1 for what comes from the second of two texts
  std::vector<int64_t> attention_mask;  // 0: padding
  std::vector<std::string> tokens;
  /// Where a token comes from: bytes [first, second) of the text, or of the second one where that is its
  /// sequence. Special tokens come from [0, 0).
  std::vector<std::pair<size_t, size_t>> offsets;
  std::vector<int> sequence;          // 0, 1: which text; -1: a special token, or padding
  std::vector<int64_t> special_mask;  // 1: added by the tokenizer, not found in a text

  size_t size() const { return ids.size(); }
};

/// Immutable; copies share the vocabulary; thread-safe.
///
/// What it does is what the Rust library `tokenizers` (and with it transformers) does: added tokens,
/// BertNormalizer (and Lowercase, Sequence of these), BertPreTokenizer or WhitespaceSplit, WordPiece,
/// TemplateProcessing or BertProcessing, truncation, padding. Characters are what they are there: categories
/// are those of Unicode 8, lower case that of 14.
class LATHE_API Tokenizer {
 public:
  /// tokenizer.json, or the directory that it is in. Throws file_not_found, file_not_regular,
  /// file_unreadable; json_malformed for what is no tokenizer.json (nesting beyond 64 too, numbers out of
  /// range); wire_too_large for more than 16 MiB, tokens of more than 1024 bytes, templates of more than 256
  /// pieces, lengths beyond 1048576; not_supported for models, normalizers and the like other than those
  /// above, with those that there are.
  static Tokenizer open(const std::filesystem::path& path);
  /// `origin` stands in errors where a file's path would.
  static Tokenizer parse(std::string_view json, std::string origin = "tokenizer.json");

  /// As tokenizer.json says; others instead. Throws bad_argument for lengths below 0 or beyond 1048576, and
  /// for a padding token without an id of its own that is not in the vocabulary.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;
  Tokenizer with_truncation(std::optional<Truncation> t) const;
  Tokenizer with_padding(std::optional<Padding> p) const;

  /// Throws wire_bad_utf8 for a text that is not UTF-8, bad_argument where a maximal length leaves no room
  /// for special tokens or for what may not be cut, not_supported for a pair where the template has no place
  /// for one, run_bad_value for an unknown word where the vocabulary lacks the token for these.
  Encoding encode(const TextInput& text, bool special_tokens = true) const;
  /// Padded to one length, where there is padding.
  std::vector<Encoding> encode_batch(const std::vector<TextInput>& texts, bool special_tokens = true) const;
  /// What models take: input_ids, attention_mask and token_type_ids, int64 [texts, tokens]. Throws as
  /// encode_batch() does; run_bad_shape for texts of different lengths without padding.
  NamedValues inputs(const std::vector<TextInput>& texts, bool special_tokens = true) const;

  /// Tokens with ids, added ones too.
  size_t size() const;
  std::optional<int64_t> id_of(std::string_view token) const;
  /// Empty for an id that no token has.
  std::string_view token_of(int64_t id) const;

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
};

}  // namespace lathe
