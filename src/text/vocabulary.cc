#include "text/vocabulary.h"

#include <algorithm>

namespace lathe::text {

void Vocabulary::reserve(size_t tokens) {
  entries_.reserve(tokens);
  size_t slots = 16;
  while (slots < tokens * 2) slots *= 2;
  if (slots <= slots_.size()) return;
  slots_.assign(slots, 0);
  for (uint32_t i = 0; i < entries_.size(); ++i) slots_[slot_of(text_of(entries_[i]))] = i + 1;
}

size_t Vocabulary::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_bytes(text) & mask;
  while (slots_[i] && text_of(entries_[slots_[i] - 1]) != text) i = (i + 1) & mask;
  return i;
}

void Vocabulary::add(std::string_view text, uint32_t id) {
  if (entries_.size() * 2 >= slots_.size()) reserve(std::max<size_t>(8, entries_.size() * 2));
  const size_t slot = slot_of(text);
  if (slots_[slot]) {
    entries_[slots_[slot] - 1].id = id;
    return;
  }
  entries_.push_back({bytes_.size(), static_cast<uint32_t>(text.size()), id});
  bytes_ += text;
  slots_[slot] = static_cast<uint32_t>(entries_.size());
}

uint32_t Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return no_token;
  const uint32_t at = slots_[slot_of(text)];
  return at ? entries_[at - 1].id : no_token;
}

void Vocabulary::finish() {
  uint32_t largest = 0;
  for (const Entry& e : entries_) largest = std::max(largest, e.id);
  if (largest < entries_.size() * 4 + 65536) {
    dense_.assign(size_t{largest} + 1, 0);
    for (uint32_t i = 0; i < entries_.size(); ++i) dense_[entries_[i].id] = i + 1;
    return;
  }
  for (uint32_t i = 0; i < entries_.size(); ++i) sparse_.emplace_back(entries_[i].id, i);
  std::ranges::stable_sort(sparse_, {}, &std::pair<uint32_t, uint32_t>::first);
}

std::optional<std::string_view> Vocabulary::text(uint32_t id) const {
  if (sparse_.empty()) {
    if (id >= dense_.size() || !dense_[id]) return std::nullopt;
    return text_of(entries_[dense_[id] - 1]);
  }
  const auto behind = std::ranges::upper_bound(sparse_, id, {}, &std::pair<uint32_t, uint32_t>::first);
  if (behind == sparse_.begin() || std::prev(behind)->first != id) return std::nullopt;
  return text_of(entries_[std::prev(behind)->second]);
}

Trie::Trie() : edges_(16), values_(1, no_token), from_root_(256, none), mask_(15) {}

uint32_t Trie::child(uint32_t node, char byte) {
  if (const uint32_t known = next(node, byte); known != none) return known;
  const auto made = static_cast<uint32_t>(values_.size());
  values_.push_back(no_token);
  if (node == root) {
    from_root_[static_cast<unsigned char>(byte)] = made;
    return made;
  }
  if (++count_ * 2 > edges_.size()) {
    std::vector<Edge> old(edges_.size() * 2);
    old.swap(edges_);
    mask_ = edges_.size() - 1;
    for (const Edge& e : old) {
      if (!e.key) continue;
      size_t i = mix(e.key) & mask_;
      while (edges_[i].key) i = (i + 1) & mask_;
      edges_[i] = e;
    }
  }
  const uint64_t key = uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  size_t i = mix(key) & mask_;
  while (edges_[i].key) i = (i + 1) & mask_;
  edges_[i] = {key, made};
  return made;
}

void Trie::add(std::string_view text, uint32_t value, uint32_t from) {
  for (char c : text) from = child(from, c);
  values_[from] = value;
}

}  // namespace lathe::text
