// The normalizer and the decoder of SentencePiece.
#include <algorithm>

#include "base/utf8.h"
#include "text/charsmap.h"
#include "text/sentence_piece.h"

namespace lathe::text {
namespace {

constexpr std::string_view space_piece = "\xe2\x96\x81";
constexpr std::string_view unreadable = "\xef\xbf\xbd";

class PieceNormalizer : public Normalizer {
 public:
  PieceNormalizer(PieceTablePtr table, std::optional<CharsMap> map, bool prefix_once)
      : table_(std::move(table)), map_(std::move(map)), prefix_once_(prefix_once) {}

  void apply(AlignedText& text) const override {
    const SentencePiece& o = table_->said;
    const std::string& s = text.bytes();
    if (s.empty()) return;
    const auto start_of = [&](size_t at) {
      return at < s.size() ? text.extent(at).begin : text.extent(s.size() - 1).end;
    };
    size_t at = 0;
    while (o.remove_extra_whitespaces && at < s.size()) {
      const Prefix p = prefix(s, at);
      if (p.by != " ") break;
      at += p.bytes;
    }
    std::string out;
    std::vector<uint32_t> starts;  // where in the original the part begins that a byte comes from
    const std::string_view space = o.escape_whitespaces ? space_piece : std::string_view(" ");
    const auto put = [&](std::string_view bytes, size_t from) {
      out += bytes;
      starts.resize(out.size(), start_of(from));
    };
    const bool whole = at < s.size();  // there is more than spaces
    const bool pad = whole && o.add_dummy_prefix && !(prefix_once_ && start_of(0) > 0);
    if (pad && !o.treat_whitespace_as_suffix) put(space, at);
    bool after_space = o.remove_extra_whitespaces;
    while (at < s.size()) {
      const Prefix p = prefix(s, at);
      std::string_view by = p.by;
      while (after_space && by.starts_with(' ')) by.remove_prefix(1);
      for (char c : by) put(c == ' ' ? space : std::string_view(&c, 1), at);
      if (!by.empty()) after_space = o.remove_extra_whitespaces && by.ends_with(' ');
      at += p.bytes;
      // Rules of a table may write as much as the table holds.
      if (out.size() > std::min(longest_text, 1024 + 64 * s.size()))
        throw PatternFault{"a text that normalization makes at most 64 times longer", "a longer one", true};
    }
    uint32_t end = start_of(s.size());
    while (whole && o.remove_extra_whitespaces && out.ends_with(space)) {
      out.resize(out.size() - space.size());
      end = starts[out.size()];
      starts.resize(out.size());
    }
    if (pad && o.treat_whitespace_as_suffix) {
      out += space;
      starts.resize(out.size(), end);
    }
    std::vector<Extent> extents(out.size());
    for (size_t i = 0; i < out.size(); ++i)
      extents[i] = {starts[i], i + 1 < out.size() ? starts[i + 1] : end};
    text = AlignedText(std::move(out), std::move(extents));
  }

 private:
  struct Prefix {
    std::string_view by;
    size_t bytes;
  };
  /// Returns what a text at `at` begins with, and what becomes of that.
  Prefix prefix(const std::string& s, size_t at) const {
    const std::string_view rest = std::string_view(s).substr(at);
    if (const size_t bytes = table_->user_defined(rest)) return {rest.substr(0, bytes), bytes};
    if (map_)
      if (const CharsMap::Found found = map_->find(rest, true); found.bytes) {
        // A rule that ends within a character would leave half of one.
        size_t bytes = found.bytes;
        while (bytes < rest.size() && !begins_character(rest[bytes])) ++bytes;
        return {found.by, bytes};
      }
    const size_t bytes = character_bytes(rest[0]);
    return {rest.substr(0, bytes), bytes};
  }

  PieceTablePtr table_;
  std::optional<CharsMap> map_;
  bool prefix_once_;
};

/// Pieces to text: the first space goes where one was put in front, byte pieces become characters as soon as
/// these are whole, and the unknown piece has a text of its own. Tokens that are no pieces stay as they are.
class PieceStage : public DecoderSink {
 public:
  PieceStage(DecoderSinkPtr next, bool, PieceTablePtr table)
      : next_(std::move(next)), table_(std::move(table)) {}
  void token(std::string_view text) override {
    const uint32_t id = table_->vocabulary.find(text);
    const auto type = id == no_token ? SentencePiece::Type::control : table_->type(id);
    if (type == SentencePiece::Type::byte) {
      bytes_ += byte_value(text);
      return hand_on(false);
    }
    hand_on(true);
    if (begun_ || space_taken_) at_start_ = false;
    space_taken_ = false;
    if (type == SentencePiece::Type::control) return emit(text);
    if (type == SentencePiece::Type::unknown) return emit(table_->said.unk_surface);
    const SentencePiece& o = table_->said;
    if (at_start_ && (o.add_dummy_prefix || o.remove_extra_whitespaces) && text.starts_with(space_piece)) {
      text.remove_prefix(space_piece.size());
      space_taken_ = !o.remove_extra_whitespaces;
    }
    std::string spaced;
    for (size_t i = 0; i < text.size();) {
      const bool space = text.substr(i).starts_with(space_piece);
      spaced += space ? ' ' : text[i];
      i += space ? space_piece.size() : 1;
    }
    emit(spaced);
  }
  void more(std::string_view) override {}  // nothing goes before it, so tokens come whole
  void end() override {
    hand_on(true);
    next_->end();
  }

 private:
  static char byte_value(std::string_view name) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    return static_cast<char>(digit(name[3]) * 16 + digit(name[4]));
  }
  void emit(std::string_view text) {
    begun_ |= !text.empty();
    next_->token(text);
  }
  /// Hands on the characters that the bytes begin with, and U+FFFD for each byte that is of none.
  void hand_on(bool all) {
    size_t i = 0;
    std::string text;
    while (i < bytes_.size()) {
      const std::string_view rest = std::string_view(bytes_).substr(i);
      const size_t size = character_bytes(rest[0]);
      if (size <= rest.size() && is_utf8(rest.substr(0, size))) {
        text += rest.substr(0, size);
        i += size;
        continue;
      }
      if (!all && may_continue(rest)) break;
      text += unreadable;
      ++i;
    }
    bytes_.erase(0, i);
    if (!text.empty()) emit(text);
  }
  /// Returns whether more bytes may make a character of these.
  static bool may_continue(std::string_view s) {
    const auto b = static_cast<unsigned char>(s[0]);
    const size_t needed = b >= 0xc2 && b < 0xe0   ? 2
                          : b >= 0xe0 && b < 0xf0 ? 3
                          : b >= 0xf0 && b < 0xf5 ? 4
                                                  : 0;
    if (s.size() >= needed) return false;
    return s.size() == 1 || is_utf8(std::string(s) + std::string(needed - s.size(), '\x80'));
  }

  DecoderSinkPtr next_;
  PieceTablePtr table_;
  std::string bytes_;
  bool begun_ = false, at_start_ = true, space_taken_ = false;
};

class PieceDecoder : public Decoder {
 public:
  explicit PieceDecoder(PieceTablePtr table) : table_(std::move(table)) {}
  DecoderSinkPtr stage(DecoderSinkPtr next, bool fragments) const override {
    return std::make_unique<PieceStage>(std::move(next), fragments, table_);
  }
  bool fragments(bool) const override { return false; }

 private:
  PieceTablePtr table_;
};

}  // namespace

NormalizerPtr sentence_piece_normalizer(PieceTablePtr table, bool prefix_once) {
  std::optional<CharsMap> map;
  if (!table->said.charsmap.empty()) {
    map = CharsMap::parse(table->said.charsmap);
    if (!map) return nullptr;
  }
  return std::make_unique<PieceNormalizer>(std::move(table), std::move(map), prefix_once);
}

DecoderPtr sentence_piece_decoder(PieceTablePtr table) {
  return std::make_unique<PieceDecoder>(std::move(table));
}

}  // namespace lathe::text
