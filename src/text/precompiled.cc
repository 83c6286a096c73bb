// The normalizer Precompiled: SentencePiece's table of what replaces what. It has a double array (darts-clone
// of https://github.com/s-yata/darts-clone) over UTF-8, and the texts that replace, each with a 0 behind it.
#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "text/normalizers.h"

namespace lathe::text {
namespace {

class Precompiled : public Normalizer {
 public:
  Precompiled(std::vector<uint32_t> units, std::string texts)
      : units_(std::move(units)), texts_(std::move(texts)) {}

  void apply(AlignedText& text) const override {
    const std::string& s = text.bytes();
    std::vector<Change> changes;
    changes.reserve(s.size());
    bool changed = false;
    const auto replace = [&](std::string_view part) {
      std::string_view by;
      if (!find(part, by)) return false;
      changed = true;
      replace_by(part, by, changes);
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
  /// Finds what replaces the shortest known beginning of `part`.
  bool find(std::string_view part, std::string_view& by) const {
    const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
    size_t at = 0;
    if (units_.empty()) return false;
    at ^= offset(units_[0]);
    for (char c : part) {
      const auto b = static_cast<unsigned char>(c);
      if (b == 0) return false;
      at ^= b;
      if (at >= units_.size()) return false;
      const uint32_t unit = units_[at];
      if ((unit & ((1u << 31) | 0xff)) != b) return false;
      at ^= offset(unit);
      if (!((unit >> 8) & 1)) continue;
      if (at >= units_.size()) return false;
      const size_t text = units_[at] & ((1u << 31) - 1);
      if (text >= texts_.size() || !begins_character(texts_[text])) return false;
      by = std::string_view(texts_).substr(text);
      by = by.substr(0, std::min(by.find('\0'), by.size()));
      return true;
    }
    return false;
  }

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

  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace

NormalizerPtr precompiled_normalizer(std::string_view charsmap) {
  uint32_t bytes = 0;
  if (charsmap.size() < sizeof bytes) return nullptr;
  std::memcpy(&bytes, charsmap.data(), sizeof bytes);
  charsmap.remove_prefix(sizeof bytes);
  if (bytes > charsmap.size() || bytes % 4) return nullptr;
  std::vector<uint32_t> units(bytes / 4);
  if (bytes) std::memcpy(units.data(), charsmap.data(), bytes);
  std::string texts(charsmap.substr(bytes));
  if (!is_utf8(texts)) return nullptr;
  return std::make_unique<Precompiled>(std::move(units), std::move(texts));
}

}  // namespace lathe::text
