// The tokens of a vocabulary by text and by id, and tries of texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

constexpr uint32_t no_token = UINT32_MAX;

inline uint64_t hash_bytes(std::string_view s) {
  uint64_t h = 0x9e3779b97f4a7c15u ^ s.size();
  while (s.size() >= 8) {
    uint64_t v = 0;
    __builtin_memcpy(&v, s.data(), 8);
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
    s.remove_prefix(8);
  }
  uint64_t v = 0;
  __builtin_memcpy(&v, s.data(), s.size());
  h = (h ^ v) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 29;
}

/// Immutable once made; thread-safe.
class Vocabulary {
 public:
  /// Adds a token; of equal texts the last one counts, and so of equal ids.
  void add(std::string_view text, uint32_t id);
  void reserve(size_t tokens);
  /// Returns the id; no_token: there is none.
  uint32_t find(std::string_view text) const;
  /// Returns the text of an id; nothing where no token has it.
  std::optional<std::string_view> text(uint32_t id) const;
  size_t size() const { return entries_.size(); }
  struct Entry {
    size_t begin;
    uint32_t bytes, id;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view text_of(const Entry& e) const { return std::string_view(bytes_).substr(e.begin, e.bytes); }
  /// Ends adding: texts can be found by id from then on.
  void finish();

 private:
  size_t slot_of(std::string_view text) const;
  void grow();
  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;                        // index of an entry plus 1; 0: none
  std::vector<uint32_t> dense_;                        // by id: index of an entry plus 1
  std::vector<std::pair<uint32_t, uint32_t>> sparse_;  // id and index of an entry, sorted
};

/// Texts as paths of bytes from a root. Immutable once made; thread-safe.
class Trie {
 public:
  static constexpr uint32_t root = 0, none = UINT32_MAX;
  Trie();
  /// Adds a text from a node; of equal ones the last value counts.
  void add(std::string_view text, uint32_t value, uint32_t from = root);
  /// Returns the node that a byte leads to; none: there is no such one.
  uint32_t next(uint32_t node, char byte) const {
    if (node == root) return from_root_[static_cast<unsigned char>(byte)];
    const uint64_t key = uint64_t{node} << 8 | static_cast<unsigned char>(byte);
    for (size_t i = mix(key) & mask_;; i = (i + 1) & mask_) {
      if (edges_[i].key == key) return edges_[i].to;
      if (edges_[i].key == 0) return none;
    }
  }
  uint32_t walk(std::string_view text, uint32_t from = root) const {
    for (char c : text)
      if (from = next(from, c); from == none) break;
    return from;
  }
  /// Returns the value of a text that ends at the node; no_token: none does.
  uint32_t value(uint32_t node) const { return values_[node]; }
  bool empty() const { return values_.size() == 1 && values_[0] == no_token; }

 private:
  struct Edge {
    uint64_t key = 0;
    uint32_t to = 0;
  };
  static size_t mix(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key ^ key >> 32);
  }
  uint32_t child(uint32_t node, char byte);
  std::vector<Edge> edges_;
  std::vector<uint32_t> values_, from_root_;
  size_t mask_ = 0, count_ = 0;
};

}  // namespace lathe::text
