#include "text/aligned_text.h"

#include "base/letters.h"

namespace lathe::text {

void AlignedText::transform(std::span<const Change> changes, size_t skipped) {
  const Extent start = bytes_.empty() ? Extent{begin_, begin_} : Extent{extent(0).begin, extent(0).begin};
  size_t at = 0;
  const auto skip = [&](size_t count) {
    for (; count > 0 && at < bytes_.size(); --count) at += character_bytes(bytes_[at]);
  };
  skip(skipped);
  std::string bytes;
  std::vector<Extent> extents;
  bytes.reserve(bytes_.size());
  extents.reserve(bytes_.size());
  for (const Change& change : changes) {
    // What is inserted, or has nothing left to stand for, comes from where the character before comes from.
    const bool inserted = change.removed > 0 || at >= bytes_.size();
    const Extent from = !inserted ? extent(at) : at ? extent(at - 1) : start;
    if (change.removed <= 0) skip(1 + static_cast<size_t>(-static_cast<int64_t>(change.removed)));
    append_utf8(bytes, change.c);
    extents.resize(bytes.size(), from);
  }
  bytes_ = std::move(bytes);
  extents_ = std::move(extents);
  changed_ = true;
}

}  // namespace lathe::text
