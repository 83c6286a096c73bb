#include "text/words.h"

#include <algorithm>

#include "base/letters.h"

namespace lathe::text {

Words::Words(std::vector<Word> words) : words_(std::move(words)) {
  std::ranges::stable_sort(words_, {}, &Word::text);
  const auto same = [](const Word& a, const Word& b) { return a.text == b.text; };
  const auto kept = std::unique(words_.rbegin(), words_.rend(), same);
  words_.erase(words_.begin(), kept.base());
}

const Words::Word* Words::find(std::string_view text) const {
  const auto at = std::ranges::lower_bound(words_, text, {}, &Word::text);
  return at != words_.end() && at->text == text ? &*at : nullptr;
}

Words::Range Words::narrow(Range r, char byte) const {
  const auto at_depth = [&](const Word& w) {
    return w.text.size() == r.depth ? -1 : static_cast<int>(static_cast<unsigned char>(w.text[r.depth]));
  };
  const auto found =
      std::ranges::equal_range(words_.begin() + static_cast<std::ptrdiff_t>(r.begin),
                               words_.begin() + static_cast<std::ptrdiff_t>(r.end),
                               static_cast<int>(static_cast<unsigned char>(byte)), {}, at_depth);
  const auto index = [&](auto i) { return static_cast<size_t>(i - words_.begin()); };
  return {index(found.begin()), index(found.end()), r.depth + 1};
}

Words::Range Words::beginning_with(std::string_view prefix) const {
  Range r = all();
  for (char byte : prefix) r = narrow(r, byte);
  return r;
}

std::optional<Words::Match> Words::longest(std::span<const Letter> text, Range r) const {
  std::optional<Match> best;
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    bytes.clear();
    append_utf8(bytes, text[i].c);
    for (char byte : bytes) r = narrow(r, byte);
    if (r.begin == r.end) break;
    // The shortest comes first.
    if (const Word& w = words_[r.begin]; w.text.size() == r.depth) best = Match{&w, i + 1};
  }
  return best;
}

}  // namespace lathe::text
