// SentencePiece, https://github.com/google/sentencepiece: its models with all that goes before and behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/tokenizer.h"
#include "text/added_tokens.h"
#include "text/decoders.h"
#include "text/model.h"
#include "text/normalizers.h"

namespace lathe::text {

/// All that a .model file says. The names are those of sentencepiece_model.proto.
struct SentencePiece {
  enum class Kind : uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum class Type : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  Kind kind = Kind::unigram;
  std::vector<std::string> pieces;  // by id
  std::vector<float> scores;
  std::vector<Type> types;
  std::string charsmap;                        // table of what replaces what; empty: none
  std::string unk_surface = " \xe2\x81\x87 ";  // text of the unknown piece
  std::string bos_piece = "<s>", eos_piece = "</s>";
  bool byte_fallback = false, add_dummy_prefix = true, remove_extra_whitespaces = true,
       escape_whitespaces = true, treat_whitespace_as_suffix = false;
};

/// Tells how a tokenizer uses the pieces, beyond what their file says.
struct SentencePieceUse {
  std::vector<AddedToken> added;  // are found in texts before all pieces
  bool add_begin = false, add_end = false;
  std::optional<std::string> begin, end;  // tokens that these are; nothing: those of the model
  bool prefix_once = false;               // the space in front only at the beginning of a text
};

/// Reads a .model file. Throws json_malformed for what SentencePiece would not load, wire_malformed for what
/// is no message, wire_bad_utf8, wire_too_large beyond 64 MiB, not_supported for a denormalizer.
SentencePiece read_sentence_piece(std::string_view bytes, const std::string& origin);
/// Throws json_malformed, wire_bad_utf8 and wire_too_large as read_sentence_piece() does.
void check_pieces(const SentencePiece& p, const std::string& origin);
/// Returns whether bytes begin as a .model file does: with a piece.
bool looks_like_sentence_piece(std::string_view bytes);

/// Makes a tokenizer. Throws json_malformed and wire_too_large as read_sentence_piece() does.
Tokenizer make_tokenizer(SentencePiece p, SentencePieceUse use, std::string origin);

/// Pieces by text, and what models and normalizers ask of them. Immutable; shared by the parts of a
/// tokenizer.
struct PieceTable {
  explicit PieceTable(SentencePiece said);
  SentencePiece::Type type(uint32_t id) const { return said.types[id]; }
  /// Returns the bytes of the longest user-defined piece that a text begins with; 0: with none.
  size_t user_defined(std::string_view text) const;

  SentencePiece said;
  Vocabulary vocabulary;
  Trie user_pieces;             // user-defined ones
  std::vector<uint32_t> bytes;  // ids of the byte pieces, or none
  uint32_t unknown = no_token;
  size_t longest = 0;  // bytes of the longest piece
};
using PieceTablePtr = std::shared_ptr<const PieceTable>;

/// Returns the score by which unigram takes a user-defined piece before others, as sentencepiece 0.2.3 has
/// it; before, it depended on the scores of the others.
inline float user_defined_score(size_t bytes) { return static_cast<float>(bytes - 1) * 0.1f; }
/// Returns the model: it takes whole normalized texts.
ModelPtr sentence_piece_model(PieceTablePtr table);
/// Returns null for a charsmap that is none.
NormalizerPtr sentence_piece_normalizer(PieceTablePtr table, bool prefix_once);
DecoderPtr sentence_piece_decoder(PieceTablePtr table);

}  // namespace lathe::text
