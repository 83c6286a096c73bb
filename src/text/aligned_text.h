// A text that is changed step by step, and the bytes of the original that each of its bytes comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/unicode.h"

namespace lathe::text {

/// Texts are shorter than this.
constexpr size_t longest_text = (size_t{1} << 31) - 1;

/// Returns how many bytes the character at the beginning of UTF-8 text has.
inline size_t character_bytes(char first) {
  const auto b = static_cast<unsigned char>(first);
  return b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
}
inline bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

/// Reads one character at `i` of valid UTF-8 and moves behind it.
inline char32_t next_character(std::string_view s, size_t& i) {
  const auto at = [&](size_t k) { return static_cast<char32_t>(static_cast<unsigned char>(s[k])); };
  const char32_t b = at(i);
  if (b < 0x80) return ++i, b;
  if (b < 0xe0) return i += 2, (b & 0x1f) << 6 | (at(i - 1) & 0x3f);
  if (b < 0xf0) return i += 3, (b & 0x0f) << 12 | (at(i - 2) & 0x3f) << 6 | (at(i - 1) & 0x3f);
  return i += 4, (b & 0x07) << 18 | (at(i - 3) & 0x3f) << 12 | (at(i - 2) & 0x3f) << 6 | (at(i - 1) & 0x3f);
}

/// The bytes [begin, end) of an original text.
struct Extent {
  uint32_t begin = 0, end = 0;
};

class AlignedText {
 public:
  AlignedText() = default;
  /// Makes an unchanged text, a part of the original that begins there.
  AlignedText(std::string_view bytes, size_t begin) : bytes_(bytes), begin_(static_cast<uint32_t>(begin)) {}
  /// Takes over bytes, and an extent for each.
  AlignedText(std::string bytes, std::vector<Extent> extents)
      : bytes_(std::move(bytes)), extents_(std::move(extents)), changed_(true) {}

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool changed() const { return changed_; }
  /// Returns the extent of the character that the byte belongs to.
  Extent extent(size_t at) const {
    if (changed_) return extents_[at];
    size_t first = at, last = at + 1;
    while (!begins_character(bytes_[first])) --first;
    while (last < bytes_.size() && !begins_character(bytes_[last])) ++last;
    return {begin_ + static_cast<uint32_t>(first), begin_ + static_cast<uint32_t>(last)};
  }
  /// Returns the extent of some bytes, which are not none.
  Extent extent(size_t from, size_t to) const { return {extent(from).begin, extent(to - 1).end}; }

  /// Replaces all of the text, beginning `skipped` characters behind its beginning.
  void transform(std::span<const Change> changes, size_t skipped = 0);
  /// Replaces the text by its own parts and other texts: see Splicer.
  friend class Splicer;

 private:
  std::string bytes_;
  std::vector<Extent> extents_;
  uint32_t begin_ = 0;
  bool changed_ = false;
};

/// Builds a text from parts of another one.
class Splicer {
 public:
  explicit Splicer(const AlignedText& from) : from_(from) {}
  /// Appends bytes [begin, end) as they are.
  void keep(size_t begin, size_t end) {
    bytes_.append(from_.bytes_, begin, end - begin);
    if (from_.changed_)
      extents_.insert(extents_.end(), from_.extents_.begin() + static_cast<ptrdiff_t>(begin),
                      from_.extents_.begin() + static_cast<ptrdiff_t>(end));
    else
      for (size_t i = begin; i < end; ++i) extents_.push_back(from_.extent(i));
  }
  void put(std::string_view bytes, Extent of) {
    bytes_ += bytes;
    extents_.resize(bytes_.size(), of);
  }
  size_t size() const { return bytes_.size(); }
  AlignedText take() { return {std::move(bytes_), std::move(extents_)}; }

 private:
  const AlignedText& from_;
  std::string bytes_;
  std::vector<Extent> extents_;
};

}  // namespace lathe::text
