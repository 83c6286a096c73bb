// The models of SentencePiece. Unlike those of tokenizer.json they take whole texts, spaces included, and sum
// in float32: equal scores are equal there as well.
#include <algorithm>
#include <cfloat>
#include <queue>
#include <unordered_map>

#include "text/aligned_text.h"
#include "text/sentence_piece.h"

namespace lathe::text {
namespace {

using Type = SentencePiece::Type;
using PieceKind = SentencePiece::Kind;

class PieceModel : public Model {
 public:
  explicit PieceModel(PieceTablePtr table) : Model(table->vocabulary), table_(std::move(table)) {}

 protected:
  uint32_t id_of(std::string_view piece) const {
    const uint32_t id = find_joined(piece);
    return id == no_token ? table_->unknown : id;
  }
  /// Returns a piece that texts are made of: control, unknown and byte pieces are not.
  uint32_t find_joined(std::string_view piece) const {
    if (piece.size() > table_->longest) return no_token;
    const uint32_t id = vocabulary_.find(piece);
    if (id == no_token) return no_token;
    const Type t = table_->type(id);
    return t == Type::normal || t == Type::user_defined || t == Type::unused ? id : no_token;
  }
  /// Returns the bytes of the character, or user-defined piece, that a text begins with.
  size_t symbol_bytes(std::string_view text, bool& user_defined) const {
    const size_t bytes = table_->user_defined(text);
    user_defined = bytes > 0;
    return user_defined ? bytes : character_bytes(text[0]);
  }
  /// Appends a piece: a run of unknown ones is one token, or all of its bytes.
  void put(std::string_view text, size_t begin, size_t bytes, uint32_t id, std::vector<WordToken>& to) const {
    const auto b = static_cast<uint32_t>(begin), e = static_cast<uint32_t>(begin + bytes);
    if (id != table_->unknown) return to.push_back({id, b, e});
    if (!table_->bytes.empty()) {
      for (char c : text.substr(begin, bytes))
        to.push_back({table_->bytes[static_cast<unsigned char>(c)], b, e});
      return;
    }
    if (!to.empty() && to.back().id == id && to.back().end == b)
      to.back().end = e;
    else
      to.push_back({id, b, e, true});
  }

  PieceTablePtr table_;
};

class PieceUnigram : public PieceModel {
 public:
  explicit PieceUnigram(PieceTablePtr table) : PieceModel(std::move(table)) {
    float least = FLT_MAX;
    for (uint32_t id = 0; id < table_->said.pieces.size(); ++id) {
      const Type t = table_->type(id);
      if (t == Type::normal) least = std::min(least, table_->said.scores[id]);
      if (t == Type::normal || t == Type::user_defined) trie_.add(table_->said.pieces[id], id);
    }
    constexpr float unknown_penalty = 10;
    unknown_score_ = least - unknown_penalty;
  }

  void tokenize(std::string_view text, std::vector<WordToken>& to) const override {
    static thread_local std::vector<Best> best;
    best.assign(text.size() + 1, {});
    for (size_t i = 0; i < text.size();) {
      const size_t character = character_bytes(text[i]);
      const float before = best[i].score;
      bool single = false;
      uint32_t node = Trie::root;
      for (size_t k = i; k < text.size(); ++k) {
        node = trie_.next(node, text[k]);
        if (node == Trie::none) break;
        const uint32_t id = trie_.value(node);
        if (id == no_token) continue;
        const size_t bytes = k + 1 - i;
        reach(best[k + 1], score_of(id, bytes) + before, i, id);
        single |= bytes == character;
      }
      if (!single) reach(best[i + character], unknown_score_ + before, i, table_->unknown);
      i += character;
    }
    static thread_local std::vector<std::pair<uint32_t, uint32_t>> path;  // ends and ids, the last first
    path.clear();
    for (auto end = static_cast<uint32_t>(text.size()); end > 0; end = best[end].from)
      path.emplace_back(end, best[end].id);
    size_t begin = 0;
    for (auto p = path.rbegin(); p != path.rend(); ++p) {
      put(text, begin, p->first - begin, p->second, to);
      begin = p->first;
    }
  }

 private:
  static constexpr uint32_t nowhere = UINT32_MAX;
  struct Best {
    float score = 0;
    uint32_t from = nowhere, id = no_token;
  };
  float score_of(uint32_t id, size_t bytes) const {
    if (table_->type(id) != Type::user_defined) return table_->said.scores[id];
    return user_defined_score(bytes);
  }
  static void reach(Best& end, float score, size_t from, uint32_t id) {
    if (end.from == nowhere || score > end.score) end = {score, static_cast<uint32_t>(from), id};
  }

  Trie trie_;
  float unknown_score_ = 0;
};

/// Of all neighbors those are joined whose common piece has the highest score, the leftmost first. Unused
/// pieces are cut again in the end.
class PieceBpe : public PieceModel {
 public:
  explicit PieceBpe(PieceTablePtr table) : PieceModel(std::move(table)) {}

  void tokenize(std::string_view text, std::vector<WordToken>& to) const override {
    Symbols symbols;
    const auto found = split(text, symbols);
    Cuts cuts;
    std::priority_queue<Open> open;
    const auto offer = [&](uint32_t left, uint32_t right) {
      if (left == nowhere || right == nowhere || symbols[left].fixed || symbols[right].fixed) return;
      const uint32_t bytes = symbols[left].bytes + symbols[right].bytes;
      const std::string_view piece = text.substr(symbols[left].begin, bytes);
      const uint32_t id = find_joined(piece);
      if (id == no_token) return;
      open.push({table_->said.scores[id], left, bytes});
      if (table_->type(id) == Type::unused) cuts[piece] = symbols[left].bytes;
    };
    for (uint32_t i = 1; i < found; ++i) offer(i - 1, i);
    while (!open.empty()) {
      const Open top = open.top();
      open.pop();
      Symbol& left = symbols[top.left];
      if (left.bytes == 0 || left.next == nowhere) continue;
      Symbol& right = symbols[left.next];
      if (left.bytes + right.bytes != top.bytes) continue;
      left.bytes = top.bytes, right.bytes = 0;
      left.next = right.next;
      if (right.next != nowhere) symbols[right.next].before = top.left;
      offer(left.before, top.left);
      offer(top.left, left.next);
    }
    for (uint32_t i = 0; i != nowhere && i < found; i = symbols[i].next)
      put_used(text, symbols[i].begin, symbols[i].bytes, cuts, to);
  }

 private:
  static constexpr uint32_t nowhere = UINT32_MAX;
  struct Symbol {
    uint32_t begin, bytes, before, next;
    bool fixed;
  };
  using Symbols = std::vector<Symbol>;
  using Cuts = std::unordered_map<std::string_view, uint32_t>;  // bytes of the left part of an unused piece
  struct Open {
    float score;
    uint32_t left, bytes;
    bool operator<(const Open& o) const { return score != o.score ? score < o.score : left > o.left; }
  };

  uint32_t split(std::string_view text, Symbols& symbols) const {
    symbols.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
      bool fixed = false;
      const size_t bytes = symbol_bytes(text.substr(i), fixed);
      const auto at = static_cast<uint32_t>(symbols.size());
      symbols.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(bytes), at ? at - 1 : nowhere,
                         i + bytes < text.size() ? at + 1 : nowhere, fixed});
      i += bytes;
    }
    return static_cast<uint32_t>(symbols.size());
  }

  void put_used(std::string_view text, uint32_t begin, uint32_t bytes, const Cuts& cuts,
                std::vector<WordToken>& to) const {
    std::vector<std::pair<uint32_t, uint32_t>> rest{{begin, bytes}};  // the next one last
    while (!rest.empty()) {
      const auto [at, size] = rest.back();
      rest.pop_back();
      const std::string_view piece = text.substr(at, size);
      const uint32_t id = id_of(piece);
      const auto cut = table_->type(id) == Type::unused ? cuts.find(piece) : cuts.end();
      if (cut == cuts.end()) {
        put(text, at, size, id, to);
        continue;
      }
      rest.emplace_back(at + cut->second, size - cut->second);
      rest.emplace_back(at, cut->second);
    }
  }
};

class PieceCharacters : public PieceModel {
 public:
  explicit PieceCharacters(PieceTablePtr table) : PieceModel(std::move(table)) {}
  void tokenize(std::string_view text, std::vector<WordToken>& to) const override {
    for (size_t i = 0; i < text.size();) {
      bool user_defined = false;
      const size_t bytes = symbol_bytes(text.substr(i), user_defined);
      put(text, i, bytes, id_of(text.substr(i, bytes)), to);
      i += bytes;
    }
  }
};

/// A word begins at each space.
class PieceWords : public PieceModel {
 public:
  explicit PieceWords(PieceTablePtr table) : PieceModel(std::move(table)) {}
  void tokenize(std::string_view text, std::vector<WordToken>& to) const override {
    constexpr std::string_view space = "\xe2\x96\x81";
    for (size_t i = 0; i < text.size();) {
      const size_t end = std::min(text.find(space, i + 1), text.size());
      put(text, i, end - i, id_of(text.substr(i, end - i)), to);
      i = end;
    }
  }
};

}  // namespace

PieceTable::PieceTable(SentencePiece s) : said(std::move(s)) {
  vocabulary.reserve(said.pieces.size());
  bool any_byte = false;
  for (uint32_t id = 0; id < said.pieces.size(); ++id) {
    vocabulary.add(said.pieces[id], id);
    longest = std::max(longest, said.pieces[id].size());
    if (said.types[id] == Type::unknown) unknown = id;
    if (said.types[id] == Type::user_defined) user_pieces.add(said.pieces[id], id);
    any_byte |= said.types[id] == Type::byte;
  }
  vocabulary.finish();
  if (!said.byte_fallback || !any_byte) return;
  for (int b = 0; b < 256; ++b) bytes.push_back(vocabulary.find(byte_token(static_cast<uint8_t>(b))));
}

size_t PieceTable::user_defined(std::string_view text) const {
  size_t longest_match = 0;
  if (user_pieces.empty()) return 0;
  uint32_t node = Trie::root;
  for (size_t i = 0; i < text.size(); ++i) {
    node = user_pieces.next(node, text[i]);
    if (node == Trie::none) break;
    if (user_pieces.value(node) != no_token) longest_match = i + 1;
  }
  return longest_match;
}

ModelPtr sentence_piece_model(PieceTablePtr table) {
  switch (table->said.kind) {
    case PieceKind::unigram:
      return std::make_unique<PieceUnigram>(std::move(table));
    case PieceKind::bpe:
      return std::make_unique<PieceBpe>(std::move(table));
    case PieceKind::word:
      return std::make_unique<PieceWords>(std::move(table));
    case PieceKind::character:
      return std::make_unique<PieceCharacters>(std::move(table));
  }
  return nullptr;
}

}  // namespace lathe::text
