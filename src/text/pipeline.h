// The steps of a tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lathe/error.h"
#include "lathe/tokenizer.h"
#include "text/characters.h"
#include "text/vocabulary.h"

namespace lathe::text {

/// Published limits of what a file may contain.
constexpr int64_t longest_encoding = int64_t{1} << 20;
constexpr size_t longest_token = 1024, max_template_pieces = 256;

constexpr size_t max_normalizers = 64;

/// Applies its steps one after the other.
struct Normalizer {
  struct Step {
    bool clean = false, ideographs = false, strip_accents = false, lowercase = false;
    void apply(Letters& text) const;
  };
  std::vector<Step> steps;
  void apply(Letters& text) const {
    for (const Step& s : steps) s.apply(text);
  }
};

enum class PreTokenizer : uint8_t { none, bert, whitespace };

/// Takes greedily the longest known prefix of the rest of a word; parts behind the first have a prefix of
/// their own.
struct WordPiece {
  Vocabulary vocabulary;
  Vocabulary::Range continuing;
  std::string unknown;
  int64_t unknown_id = -1;  // -1: not in the vocabulary
  size_t longest_word = 100;
};

/// A token that is searched in texts before all others.
struct AddedToken {
  std::string text;
  int64_t id = 0;
  bool single_word = false, strip_left = false, strip_right = false;
};
struct AddedTokens {
  std::vector<AddedToken> tokens;
  Vocabulary found;  // with indices of tokens
  AddedTokens() = default;
  /// These tokens are searched in texts that were normalized.
  AddedTokens(std::vector<AddedToken> all, const Normalizer& normalizer);
};

/// One part of an encoding: a text, or special tokens.
struct TemplatePiece {
  int sequence = -1;  // 0, 1; -1: `tokens`
  int64_t type_id = 0;
  std::vector<Vocabulary::Entry> tokens = {};
};
using Template = std::vector<TemplatePiece>;
int64_t special_count(const Template& t);

/// The tokens of one text, before they have positions in an encoding.
struct Pieces {
  std::vector<int64_t> ids;
  std::vector<std::string> tokens;
  std::vector<std::pair<size_t, size_t>> offsets;

  void put(int64_t id, std::string token, size_t begin, size_t end) {
    ids.push_back(id), tokens.push_back(std::move(token)), offsets.emplace_back(begin, end);
  }
  void keep(size_t count, bool left);
};

/// The contents of the file except truncation and padding, which users change.
struct Pipeline {
  std::string origin;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer = PreTokenizer::none;
  WordPiece model;
  AddedTokens raw, normalized;  // found before and after a text is normalized
  Vocabulary added;             // both, as the file has them
  std::vector<Vocabulary::Entry> by_id;
  std::optional<Template> single, pair;  // absent: the texts alone

  Pieces pieces_of(std::string_view text) const;
  /// Throws bad_argument.
  void truncate(const Truncation& t, int64_t limit, Pieces& first, Pieces* second) const;
  Encoding place(const Template& shape, const Pieces& first, const Pieces* second) const;

  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const;
};

}  // namespace lathe::text

namespace lathe {

struct Tokenizer::State : text::Pipeline {};

}  // namespace lathe
