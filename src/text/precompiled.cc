// SentencePiece's table of what replaces what, and the normalizer Precompiled.
#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "text/charsmap.h"
#include "text/normalizers.h"

namespace lathe::text {
namespace {

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharsMap map) : map_(std::move(map)) {}

  void apply(AlignedText& text) const override {
    const std::string& s = text.bytes();
    std::vector<Change> changes;
    changes.reserve(s.size());
    bool changed = false;
    const auto replace = [&](std::string_view part) {
      const CharsMap::Found found = map_.find(part, false);
      if (!found.bytes) return false;
      changed = true;
      replace_by(part, found.by, changes);
      return true;
    };
    for (size_t i = 0; i < s.size();) {
      const size_t end = cluster_end(s, i);
      // Longer clusters are replaced character by character, as in the Rust library.
      if (end - i < 6 && replace(std::string_view(s).substr(i, end - i))) {
        i = end;
        continue;
      }
      while (i < end) {
        const size_t begin = i;
        const char32_t c = next_character(s, i);
        if (!replace(std::string_view(s).substr(begin, i - begin))) changes.push_back({c, 0});
      }
    }
    if (changed) text.transform(changes);
  }

 private:
  static size_t count(std::string_view s) {
    return static_cast<size_t>(std::ranges::count_if(s, begins_character));
  }

  static void replace_by(std::string_view part, std::string_view by, std::vector<Change>& to) {
    const auto before = static_cast<int32_t>(count(part)), after = static_cast<int32_t>(count(by));
    for (size_t i = 0; i < by.size();) to.push_back({next_character(by, i), 0});
    for (int32_t k = 0; k < after - before; ++k) to[to.size() - 1 - static_cast<size_t>(k)].removed = 1;
    if (after < before && !to.empty()) to.back().removed -= before - after;
  }

  /// Returns whether two parts of a syllable of Hangul stay together.
  static bool joins_syllable(char32_t c, char32_t d) {
    const auto within = [](char32_t x, char32_t first, char32_t last) { return x >= first && x <= last; };
    const auto lead = [&](char32_t x) { return within(x, 0x1100, 0x115f) || within(x, 0xa960, 0xa97c); };
    const auto vowel = [&](char32_t x) { return within(x, 0x1160, 0x11a7) || within(x, 0xd7b0, 0xd7c6); };
    const auto tail = [&](char32_t x) { return within(x, 0x11a8, 0x11ff) || within(x, 0xd7cb, 0xd7fb); };
    const auto syllable = [&](char32_t x) { return within(x, 0xac00, 0xd7a3); };
    const bool open = syllable(c) && (c - 0xac00) % 28 == 0;
    return (lead(c) && (lead(d) || vowel(d) || syllable(d))) ||
           ((open || vowel(c)) && (vowel(d) || tail(d))) || ((syllable(c) || tail(c)) && tail(d));
  }

  /// Unicode Standard Annex 29, as far as it concerns clusters of at most five bytes.
  static size_t cluster_end(const std::string& s, size_t i) {
    const CharacterTable& classes = cluster_classes();
    char32_t c = next_character(s, i);
    while (i < s.size()) {
      size_t next = i;
      const char32_t d = next_character(s, next);
      const uint8_t before = classes[c], behind = classes[d];
      const bool joined = (c == U'\r' && d == U'\n') ||
                          (before != 3 && behind != 3 && (behind == 1 || before == 2)) ||
                          joins_syllable(c, d);
      if (!joined) break;
      i = next;
      c = d;
    }
    return i;
  }

  CharsMap map_;
};

}  // namespace

CharsMap::Found CharsMap::find(std::string_view text, bool longest) const {
  const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
  Found found;
  if (units_.empty()) return found;
  size_t at = offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto b = static_cast<unsigned char>(text[i]);
    if (b == 0) break;
    at ^= b;
    if (at >= units_.size()) break;
    const uint32_t unit = units_[at];
    if ((unit & ((1u << 31) | 0xff)) != b) break;
    at ^= offset(unit);
    if (!((unit >> 8) & 1)) continue;
    if (at >= units_.size()) break;
    const size_t place = units_[at] & ((1u << 31) - 1);
    if (place >= texts_.size() || !begins_character(texts_[place])) break;
    const std::string_view by = std::string_view(texts_).substr(place);
    found = {i + 1, by.substr(0, std::min(by.find('\0'), by.size()))};
    if (!longest) break;
  }
  return found;
}

std::optional<CharsMap> CharsMap::parse(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size() || size % 4) return std::nullopt;
  CharsMap map;
  map.units_.resize(size / 4);
  if (size) std::memcpy(map.units_.data(), bytes.data(), size);
  map.texts_ = bytes.substr(size);
  if (!is_utf8(map.texts_)) return std::nullopt;
  return map;
}

NormalizerPtr precompiled_normalizer(std::string_view charsmap) {
  std::optional<CharsMap> map = CharsMap::parse(charsmap);
  return map ? std::make_unique<Precompiled>(std::move(*map)) : nullptr;
}

}  // namespace lathe::text
