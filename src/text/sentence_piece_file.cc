// Reads sentencepiece_model.proto of https://github.com/google/sentencepiece, and makes tokenizers of it.
#include <algorithm>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "base/error_about.h"
#include "base/utf8.h"
#include "io/stored_tensor.h"
#include "text/pipeline.h"
#include "text/plain_vocabulary.h"
#include "text/sentence_piece.h"

namespace lathe::text {
namespace {

// protozero keeps lengths in 32 bits, so nothing longer than this may reach it.
constexpr size_t max_model_bytes = size_t{64} << 20;
using PieceType = SentencePiece::Type;

class ModelFile {
 public:
  explicit ModelFile(const std::string& origin) : origin_(origin) {}

  [[noreturn]] void fail(Code code, const std::string& expected, const std::string& got,
                         const std::string& remedy = {}) const {
    throw error_about(code, "tokenize", origin_, expected, got, remedy);
  }
  [[noreturn]] void malformed(const std::string& expected, const std::string& got) const {
    fail(Code::json_malformed, expected, got);
  }

  SentencePiece read(std::string_view bytes) const {
    if (bytes.size() > max_model_bytes)
      fail(Code::wire_too_large, "a model of at most " + std::to_string(max_model_bytes) + " bytes",
           std::to_string(bytes.size()));
    SentencePiece p;
    try {
      protozero::pbf_reader file(bytes.data(), bytes.size());
      while (file.next()) switch (file.tag()) {
          case 1:
            read_piece(message_of(file), p);
            break;
          case 2:
            read_trainer(message_of(file), p);
            break;
          case 3:
            read_normalizer(message_of(file), p);
            break;
          case 5:
            read_denormalizer(message_of(file));
            break;
          default:
            file.skip();
        }
    } catch (const protozero::exception& e) {
      fail(Code::wire_malformed, "a model of SentencePiece", std::string("no such message: ") + e.what(),
           "download the file again");
    }
    check(p);
    return p;
  }

  void check(const SentencePiece& p) const {
    const size_t count = p.pieces.size();
    if (count == 0) malformed("a model of SentencePiece", "none of its pieces");
    size_t unknowns = 0;
    std::vector<bool> bytes(256);
    Vocabulary seen;
    seen.reserve(count);
    for (uint32_t id = 0; id < count; ++id) {
      const std::string& text = p.pieces[id];
      const std::string which = "piece " + std::to_string(id);
      if (text.empty()) malformed(which + ": a text", "none");
      if (text.size() > longest_token)
        fail(Code::wire_too_large, "pieces of at most " + std::to_string(longest_token) + " bytes",
             std::to_string(text.size()));
      if (!is_utf8(text)) fail(Code::wire_bad_utf8, which + ": a text in UTF-8", "other bytes");
      if (!std::isfinite(p.scores[id])) malformed(which + ": a finite score", std::to_string(p.scores[id]));
      if (seen.find(text) != no_token) malformed("pieces that differ", in_quotes(text) + " twice");
      seen.add(text, id);
      unknowns += p.types[id] == PieceType::unknown;
      if (p.types[id] != PieceType::byte) continue;
      size_t b = 0;
      while (b < 256 && byte_token(static_cast<uint8_t>(b)) != text) ++b;
      if (b == 256 || !p.byte_fallback)
        malformed("byte pieces <0x00> to <0xFF>, where unknown characters become bytes", in_quotes(text));
      bytes[b] = true;
    }
    if (unknowns != 1) malformed("one unknown piece", std::to_string(unknowns));
    if (p.byte_fallback && std::ranges::find(bytes, false) != bytes.end())
      malformed("all 256 byte pieces", std::to_string(std::ranges::count(bytes, true)));
    if (!is_utf8(p.unk_surface))
      fail(Code::wire_bad_utf8, "a text of the unknown piece in UTF-8", "other bytes");
  }

 private:
  void require_bytes(const protozero::pbf_reader& from) const {
    if (from.wire_type() != protozero::pbf_wire_type::length_delimited)
      malformed("a text or a message", "field " + std::to_string(from.tag()) + " as a number");
  }
  protozero::pbf_reader message_of(protozero::pbf_reader& from) const {
    require_bytes(from);
    return from.get_message();
  }
  std::string text_of(protozero::pbf_reader& from) const {
    require_bytes(from);
    const auto view = from.get_view();
    return std::string(view.data(), view.size());
  }
  bool flag_of(protozero::pbf_reader& from) const { return number_of(from) != 0; }
  uint64_t number_of(protozero::pbf_reader& from) const {
    if (from.wire_type() != protozero::pbf_wire_type::varint)
      malformed("a number", "field " + std::to_string(from.tag()) + " as something else");
    return from.get_uint64();
  }

  void read_piece(protozero::pbf_reader from, SentencePiece& to) const {
    std::string text;
    float score = 0;
    uint64_t type = 1;
    while (from.next()) switch (from.tag()) {
        case 1:
          text = text_of(from);
          break;
        case 2:
          if (from.wire_type() != protozero::pbf_wire_type::fixed32) malformed("a score", "another field");
          score = from.get_float();
          break;
        case 3:
          type = number_of(from);
          break;
        default:
          from.skip();
      }
    if (type < 1 || type > 6) malformed("types of pieces from 1 to 6", std::to_string(type));
    to.pieces.push_back(std::move(text));
    to.scores.push_back(score);
    to.types.push_back(static_cast<PieceType>(type));
  }

  void read_trainer(protozero::pbf_reader from, SentencePiece& to) const {
    while (from.next()) switch (from.tag()) {
        case 3: {
          const uint64_t kind = number_of(from);
          if (kind < 1 || kind > 4) malformed("a model of type 1 to 4", std::to_string(kind));
          to.kind = static_cast<SentencePiece::Kind>(kind);
          break;
        }
        case 24:
          to.treat_whitespace_as_suffix = flag_of(from);
          break;
        case 35:
          to.byte_fallback = flag_of(from);
          break;
        case 44:
          to.unk_surface = text_of(from);
          break;
        case 46:
          to.bos_piece = text_of(from);
          break;
        case 47:
          to.eos_piece = text_of(from);
          break;
        default:
          from.skip();
      }
  }

  void read_normalizer(protozero::pbf_reader from, SentencePiece& to) const {
    while (from.next()) switch (from.tag()) {
        case 2:
          to.charsmap = text_of(from);
          break;
        case 3:
          to.add_dummy_prefix = flag_of(from);
          break;
        case 4:
          to.remove_extra_whitespaces = flag_of(from);
          break;
        case 5:
          to.escape_whitespaces = flag_of(from);
          break;
        default:
          from.skip();
      }
  }

  void read_denormalizer(protozero::pbf_reader from) const {
    while (from.next()) {
      if (from.tag() == 2 && !text_of(from).empty())
        fail(Code::not_supported, "a model that changes nothing when it decodes", "a denormalizer");
      if (from.tag() != 2) from.skip();
    }
  }

  const std::string& origin_;
};

/// Returns special tokens around texts, or null.
PostProcessorPtr around_texts(const std::optional<NamedToken>& begin, const std::optional<NamedToken>& end) {
  if (!begin && !end) return nullptr;
  Template single, pair;
  for (int sequence : {0, 1}) {
    Template one;
    if (begin) one.push_back({-1, 0, {*begin}});
    one.push_back({sequence, 0});
    if (end) one.push_back({-1, 0, {*end}});
    if (sequence == 0) single = one;
    pair.insert(pair.end(), one.begin(), one.end());
  }
  return template_processor(std::move(single), std::move(pair));
}

}  // namespace

SentencePiece read_sentence_piece(std::string_view bytes, const std::string& origin) {
  return ModelFile(origin).read(bytes);
}

void check_pieces(const SentencePiece& p, const std::string& origin) { ModelFile(origin).check(p); }

bool looks_like_sentence_piece(std::string_view bytes) {
  // Field 1, a message of at least a text: field 1 again.
  return bytes.size() > 4 && bytes[0] == '\x0a' && (bytes[2] == '\x0a' || bytes[3] == '\x0a');
}

Tokenizer make_tokenizer(SentencePiece p, SentencePieceUse use, std::string origin) {
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = std::move(origin);
  const auto table = std::make_shared<const PieceTable>(std::move(p));
  const SentencePiece& said = table->said;
  s->normalizer = sentence_piece_normalizer(table, use.prefix_once);
  if (!s->normalizer) s->fail(Code::json_malformed, "a table of SentencePiece", "other bytes");
  s->model = sentence_piece_model(table);
  s->decoder = sentence_piece_decoder(table);
  // Control pieces stand in no text: they are left out when tokens become text, and that is all.
  Vocabulary given;
  for (const AddedToken& t : use.added) given.add(t.content, 0);
  for (uint32_t id = 0; id < said.pieces.size(); ++id) {
    if (said.types[id] != PieceType::control || given.find(said.pieces[id]) != no_token) continue;
    AddedToken t;
    t.content = said.pieces[id], t.id = id;
    t.hidden = t.special = true;
    use.added.push_back(std::move(t));
  }
  s->added = AddedTokens(std::move(use.added), s->model->vocabulary(), s->normalizer.get());
  const auto token = [&](bool wanted, const std::optional<std::string>& name, const std::string& fallback) {
    std::optional<NamedToken> t;
    if (!wanted) return t;
    t = NamedToken{name.value_or(fallback), 0};
    uint32_t id = s->added.find(t->text);
    if (id == no_token) id = table->vocabulary.find(t->text);
    if (id == no_token)
      s->fail(Code::json_malformed, "the token that is put around texts: " + in_quotes(t->text), "none");
    t->id = id;
    return t;
  };
  s->post_processor = around_texts(token(use.add_begin, use.begin, said.bos_piece),
                                   token(use.add_end, use.end, said.eos_piece));
  return TokenizerMaker::of(std::move(s));
}

}  // namespace lathe::text
