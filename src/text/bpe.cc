// Byte pair encoding: of all neighbors in a word the pair of the lowest rank is merged, the leftmost first,
// until none is left.
#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstring>
#include <queue>

#include "base/letters.h"
#include "text/aligned_text.h"
#include "text/model.h"
#include "text/normalizers.h"

namespace lathe::text {
namespace {

/// Ranks of pairs, found by hash.
class MergeTable {
 public:
  struct Found {
    uint32_t rank, result;
  };
  void build(const std::vector<Merge>& merges) {
    size_t size = 16;
    while (size < merges.size() * 2 + 2) size *= 2;
    slots_.assign(size, {});
    mask_ = size - 1;
    for (size_t i = 0; i < merges.size(); ++i) {
      const Merge& m = merges[i];
      Slot& s = slots_[place(key_of(m.left, m.right))];
      s = {key_of(m.left, m.right), {m.rank == no_token ? static_cast<uint32_t>(i) : m.rank, m.result}};
    }
  }
  Found find(uint32_t left, uint32_t right) const { return slots_[place(key_of(left, right))].found; }

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;  // no pair has it: ids are below no_token
    Found found{UINT32_MAX, no_token};
  };
  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  size_t place(uint64_t key) const {
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    size_t i = static_cast<size_t>(h ^ h >> 32) & mask_;
    while (slots_[i].key != key && slots_[i].key != UINT64_MAX) i = (i + 1) & mask_;
    return i;
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

struct Symbol {
  uint32_t id, bytes;
};

/// Words that a thread met last, and their tokens, for whichever models it used.
class WordCache {
 public:
  static constexpr size_t max_bytes = 23, max_tokens = 8, size = 1 << 14;
  struct Entry {
    uint32_t model = 0;
    uint8_t bytes = 0, tokens = 0;
    char word[max_bytes];
    uint32_t ids[max_tokens];
  };
  Entry& of(std::string_view word, uint32_t model) {
    if (entries_.empty()) entries_.resize(size);
    return entries_[(hash_bytes(word) + model * 0x9e3779b9u) & (size - 1)];
  }

 private:
  std::vector<Entry> entries_;
};
thread_local WordCache word_cache;

class Bpe : public Model {
 public:
  Bpe(Vocabulary v, const std::vector<Merge>& merges, BpeOptions o) : Model(std::move(v)), o_(std::move(o)) {
    static std::atomic<uint32_t> count{0};
    number_ = ++count;
    merges_.build(merges);
    for (const Merge& m : merges) note_neighbors(m);
    if (o_.has_unknown) unknown_ = vocabulary_.find(o_.unknown);
    for (size_t b = 0; b < 256; ++b) fallback_[b] = vocabulary_.find(byte_token(static_cast<uint8_t>(b)));
    for (size_t c = 0; c < 128; ++c) ascii_[c] = vocabulary_.find(std::string(1, static_cast<char>(c)));
  }

  bool take_bytes() override {
    if (!o_.prefix.empty() || !o_.suffix.empty()) return false;
    for (size_t b = 0; b < 256; ++b) {
      const bool in_utf8 = b < 0xc0 || (b > 0xc1 && b < 0xf5);
      letters_[b] = vocabulary_.find(byte_text(static_cast<uint8_t>(b)));
      if (in_utf8 && letters_[b] == no_token) return false;
    }
    lengths_.clear();
    for (const Vocabulary::Entry& e : vocabulary_.entries()) {
      const std::string_view text = vocabulary_.text_of(e);
      std::string bytes;
      bool whole = true;
      uint32_t letters = 0;
      for (size_t i = 0; i < text.size(); ++letters) {
        const int b = letter_byte(next_character(text, i));
        whole &= b >= 0;
        bytes += static_cast<char>(b);
      }
      if (e.id >= lengths_.size()) {
        if (e.id > vocabulary_.size() * 4 + 65536) return false;
        lengths_.resize(e.id + 1, 0);
      }
      lengths_[e.id] = letters;
      if (whole && o_.ignore_merges) whole_words_.add(bytes, e.id);
    }
    return bytes_ = true;
  }

  void tokenize(std::string_view word, std::vector<WordToken>& to) const override {
    if (o_.ignore_merges) {
      const uint32_t id = (bytes_ ? whole_words_ : vocabulary_).find(word);
      if (id != no_token) {
        put(id, static_cast<uint32_t>(word.size()), to, 0);
        return;
      }
    }
    if (bytes_) return tokenize_bytes(word, to);
    std::vector<Symbol> symbols;
    size_t begin = 0, offset = 0;
    // Where no merge ever joins two characters, what is before and what is behind are words of their own.
    const bool cut = o_.prefix.empty() && o_.suffix.empty();
    for (size_t i = 0; cut && i < word.size();) {
      next_character(word, i);
      if (i - begin < 2 || i == word.size() || may_join(word[i - 1], word[i])) continue;
      if (!known_edge(word, begin, i)) continue;
      tokenize_letters(word.substr(begin, i - begin), symbols, to, offset);
      begin = i;
    }
    tokenize_letters(word.substr(begin), symbols, to, offset);
  }

 private:
  static std::string byte_text(uint8_t b) {
    std::string s;
    append_utf8(s, byte_letter(b));
    return s;
  }

  void note_neighbors(const Merge& m) {
    const auto text = vocabulary_.text(m.result), right = vocabulary_.text(m.right),
               left = vocabulary_.text(m.left);
    if (!text || !right || !left || left->empty() || text->size() <= left->size()) return;
    neighbors_.set(joint_of(left->back(), (*text)[left->size()]));
  }
  static size_t joint_of(char a, char b) {
    return static_cast<size_t>(static_cast<unsigned char>(a)) << 8 | static_cast<unsigned char>(b);
  }
  bool may_join(char a, char b) const { return neighbors_[joint_of(a, b)]; }
  /// Returns whether the characters on both sides of `at` have tokens, so that no unknown run crosses it.
  bool known_edge(std::string_view word, size_t begin, size_t at) const {
    size_t first = at - 1;
    while (first > begin && !begins_character(word[first])) --first;
    const size_t after = character_bytes(word[at]);
    return symbol_of(word.substr(first, at - first)) != no_token &&
           symbol_of(word.substr(at, after)) != no_token;
  }
  uint32_t symbol_of(std::string_view character) const {
    return character.size() == 1 ? ascii_[static_cast<unsigned char>(character[0])]
                                 : vocabulary_.find(character);
  }

  size_t put(uint32_t id, uint32_t bytes, std::vector<WordToken>& to, size_t offset) const {
    to.push_back({id, static_cast<uint32_t>(offset), static_cast<uint32_t>(offset + bytes)});
    return offset + bytes;
  }

  /// Appends the cached tokens of a word. Returns null if it had them, or the entry for them.
  WordCache::Entry* cached(std::string_view word, std::vector<WordToken>& to, size_t& offset) const {
    if (word.size() > WordCache::max_bytes) return &no_entry();
    WordCache::Entry& e = word_cache.of(word, number_);
    if (e.model != number_ || e.bytes != word.size() || std::memcmp(e.word, word.data(), word.size()) != 0)
      return &e;
    for (size_t i = 0; i < e.tokens; ++i) offset = put(e.ids[i], length_of(e.ids[i]), to, offset);
    return nullptr;
  }
  static WordCache::Entry& no_entry() {
    static thread_local WordCache::Entry none;
    return none;
  }
  void remember(WordCache::Entry& e, std::string_view word, const std::vector<Symbol>& symbols) const {
    if (word.size() > WordCache::max_bytes || symbols.size() > WordCache::max_tokens) return;
    for (const Symbol& s : symbols)
      if (s.bytes != length_of(s.id)) return;
    e.model = number_, e.bytes = static_cast<uint8_t>(word.size()),
    e.tokens = static_cast<uint8_t>(symbols.size());
    std::memcpy(e.word, word.data(), word.size());
    for (size_t i = 0; i < symbols.size(); ++i) e.ids[i] = symbols[i].id;
  }
  uint32_t length_of(uint32_t id) const {
    if (bytes_) return lengths_[id];
    const auto text = vocabulary_.text(id);
    return text ? static_cast<uint32_t>(text->size()) : 0;
  }

  void tokenize_bytes(std::string_view word, std::vector<WordToken>& to) const {
    size_t offset = 0;
    WordCache::Entry* const e = cached(word, to, offset);
    if (!e) return;
    static thread_local std::vector<Symbol> symbols;
    symbols.clear();
    for (char c : word) symbols.push_back({letters_[static_cast<unsigned char>(c)], 1});
    merge(symbols);
    remember(*e, word, symbols);
    for (const Symbol& s : symbols) offset = put(s.id, s.bytes, to, offset);
  }

  void tokenize_letters(std::string_view word, std::vector<Symbol>& symbols, std::vector<WordToken>& to,
                        size_t& offset) const {
    WordCache::Entry* const e = cached(word, to, offset);
    if (!e) return;
    symbols.clear();
    split_letters(word, symbols);
    merge(symbols);
    if (o_.suffix.empty() && o_.prefix.empty()) remember(*e, word, symbols);
    for (const Symbol& s : symbols) offset = put(s.id, s.bytes, to, offset);
  }

  void split_letters(std::string_view word, std::vector<Symbol>& symbols) const {
    Symbol unknown{no_token, 0};
    const auto end_unknown = [&] {
      if (unknown.id != no_token) symbols.push_back(unknown);
      unknown.id = no_token;
    };
    std::string longer;
    for (size_t i = 0; i < word.size();) {
      const size_t bytes = character_bytes(word[i]);
      std::string_view s = word.substr(i, bytes);
      const bool prefixed = i > 0 && !o_.prefix.empty(),
                 suffixed = i + bytes == word.size() && !o_.suffix.empty();
      i += bytes;
      if (prefixed || suffixed) {
        longer =
            (prefixed ? o_.prefix : std::string()) + std::string(s) + (suffixed ? o_.suffix : std::string());
        s = longer;
      }
      if (const uint32_t id = symbol_of(s); id != no_token) {
        end_unknown();
        symbols.push_back({id, static_cast<uint32_t>(bytes)});
        continue;
      }
      if (o_.byte_fallback && std::ranges::all_of(s, [&](char c) {
            return fallback_[static_cast<unsigned char>(c)] != no_token;
          })) {
        for (char c : s) symbols.push_back({fallback_[static_cast<unsigned char>(c)], 1});
        continue;
      }
      if (!o_.has_unknown) continue;  // such characters vanish, as in the Rust library
      if (unknown.id != no_token && o_.fuse_unknown) {
        unknown.bytes += static_cast<uint32_t>(bytes);
        continue;
      }
      end_unknown();
      if (unknown_ == no_token) throw UnknownWord{o_.unknown};
      unknown = {unknown_, static_cast<uint32_t>(bytes)};
    }
    end_unknown();
  }

  void merge(std::vector<Symbol>& symbols) const {
    constexpr size_t few = 40;
    if (symbols.size() < 2) return;
    symbols.size() <= few ? merge_few(symbols) : merge_many(symbols);
  }

  void merge_few(std::vector<Symbol>& symbols) const {
    std::array<MergeTable::Found, 64> pairs;
    size_t n = symbols.size();
    Symbol* const s = symbols.data();
    for (size_t i = 0; i + 1 < n; ++i) pairs[i] = merges_.find(s[i].id, s[i + 1].id);
    while (n > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < n; ++i)
        if (pairs[i].rank < pairs[best].rank) best = i;
      if (pairs[best].rank == UINT32_MAX) break;
      s[best] = {pairs[best].result, s[best].bytes + s[best + 1].bytes};
      --n;
      std::copy(s + best + 2, s + n + 1, s + best + 1);
      if (best + 2 <= n) std::copy(pairs.data() + best + 2, pairs.data() + n, pairs.data() + best + 1);
      refresh(s, pairs.data(), best, n);
    }
    symbols.resize(n);
  }
  void refresh(const Symbol* s, MergeTable::Found* pairs, size_t at, size_t n) const {
    if (at > 0) pairs[at - 1] = merges_.find(s[at - 1].id, s[at].id);
    if (at + 1 < n) pairs[at] = merges_.find(s[at].id, s[at + 1].id);
  }

  void merge_many(std::vector<Symbol>& symbols) const {
    struct Open {
      uint32_t rank, at, result;
      bool operator>(const Open& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
    };
    constexpr uint32_t nowhere = UINT32_MAX;
    const auto n = static_cast<uint32_t>(symbols.size());
    std::vector<uint32_t> before(n), behind(n);
    std::vector<Open> first;
    for (uint32_t i = 0; i < n; ++i) {
      before[i] = i ? i - 1 : nowhere, behind[i] = i + 1 < n ? i + 1 : nowhere;
      if (i + 1 == n) continue;
      const auto found = merges_.find(symbols[i].id, symbols[i + 1].id);
      if (found.result != no_token) first.push_back({found.rank, i, found.result});
    }
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open(std::greater<>(), std::move(first));
    const auto offer = [&](uint32_t left, uint32_t right) {
      if (left == nowhere || right == nowhere) return;
      const auto found = merges_.find(symbols[left].id, symbols[right].id);
      if (found.result != no_token) open.push({found.rank, left, found.result});
    };
    while (!open.empty()) {
      const Open top = open.top();
      open.pop();
      const uint32_t right = behind[top.at];
      if (symbols[top.at].bytes == 0 || right == nowhere) continue;
      if (merges_.find(symbols[top.at].id, symbols[right].id).result != top.result) continue;
      symbols[top.at] = {top.result, symbols[top.at].bytes + symbols[right].bytes};
      symbols[right].bytes = 0;
      behind[top.at] = behind[right];
      if (behind[right] != nowhere) before[behind[right]] = top.at;
      offer(before[top.at], top.at);
      offer(top.at, behind[top.at]);
    }
    std::erase_if(symbols, [](const Symbol& s) { return s.bytes == 0; });
  }

  BpeOptions o_;
  MergeTable merges_;
  std::bitset<65536> neighbors_;  // the last byte of a left token and the first of a right one
  std::array<uint32_t, 256> fallback_{}, letters_{};
  std::array<uint32_t, 128> ascii_{};
  uint32_t unknown_ = no_token, number_ = 0;
  bool bytes_ = false;
  std::vector<uint32_t> lengths_;  // by id, in bytes of the text; if `bytes_`
  Vocabulary whole_words_;         // by the bytes that the letters stand for; if `bytes_` and ignore_merges
};

}  // namespace

std::string byte_token(uint8_t byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

ModelPtr bpe_model(Vocabulary v, const std::vector<Merge>& merges, BpeOptions o) {
  return std::make_unique<Bpe>(std::move(v), merges, std::move(o));
}

}  // namespace lathe::text
