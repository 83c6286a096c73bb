#include "text/vocabulary.h"

#include <algorithm>

#include "base/letters.h"

namespace lathe::text {

Vocabulary::Vocabulary(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::ranges::stable_sort(entries_, {}, &Entry::text);
  const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  const auto kept = std::unique(entries_.rbegin(), entries_.rend(), same);
  entries_.erase(entries_.begin(), kept.base());
}

const Vocabulary::Entry* Vocabulary::find(std::string_view text) const {
  const auto at = std::ranges::lower_bound(entries_, text, {}, &Entry::text);
  return at != entries_.end() && at->text == text ? &*at : nullptr;
}

Vocabulary::Range Vocabulary::narrow(Range r, char byte) const {
  const auto at_depth = [&](const Entry& w) {
    return w.text.size() == r.depth ? -1 : static_cast<int>(static_cast<unsigned char>(w.text[r.depth]));
  };
  const auto found =
      std::ranges::equal_range(entries_.begin() + static_cast<std::ptrdiff_t>(r.begin),
                               entries_.begin() + static_cast<std::ptrdiff_t>(r.end),
                               static_cast<int>(static_cast<unsigned char>(byte)), {}, at_depth);
  const auto index = [&](auto i) { return static_cast<size_t>(i - entries_.begin()); };
  return {index(found.begin()), index(found.end()), r.depth + 1};
}

Vocabulary::Range Vocabulary::beginning_with(std::string_view prefix) const {
  Range r = all();
  for (char byte : prefix) r = narrow(r, byte);
  return r;
}

std::optional<Vocabulary::Match> Vocabulary::longest(std::span<const Letter> text, Range r) const {
  std::optional<Match> best;
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    bytes.clear();
    append_utf8(bytes, text[i].c);
    for (char byte : bytes) r = narrow(r, byte);
    if (r.begin == r.end) break;
    // The shortest comes first.
    if (const Entry& w = entries_[r.begin]; w.text.size() == r.depth) best = Match{&w, i + 1};
  }
  return best;
}

}  // namespace lathe::text
