#include <algorithm>

#include "lathe/error.h"
#include "lathe/sampling.h"

namespace lathe {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  constexpr size_t most = size_t{1} << 16;
  size_t bytes = 0;
  for (const std::string& s : strings_) bytes += s.size();
  if (bytes > most)
    throw Error(Code::bad_argument, "sample", "stop strings of at most " + std::to_string(most) + " bytes",
                std::to_string(bytes));
}

std::string StopStrings::append(std::string_view piece) {
  if (found_) return {};
  held_ += piece;
  size_t begin = 0, end = std::string::npos;
  for (size_t i = 0; i < strings_.size(); ++i) {
    const size_t at = strings_[i].empty() ? std::string::npos : held_.find(strings_[i]);
    if (at == std::string::npos) continue;
    // That which ends first, as byte after byte would find it: pieces of any size give the same.
    const size_t behind = at + strings_[i].size();
    if (behind < end || (behind == end && at < begin)) begin = at, end = behind, found_ = i;
  }
  if (found_) {
    held_.resize(begin);
    return std::exchange(held_, {});
  }
  // The longest end of the text with which a stop string may begin.
  size_t kept = 0;
  for (const std::string& s : strings_)
    for (size_t n = s.empty() ? 0 : std::min(s.size() - 1, held_.size()); n > kept; --n)
      if (std::string_view(held_).ends_with(std::string_view(s).substr(0, n))) kept = n;
  std::string certain = held_.substr(0, held_.size() - kept);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopStrings::finish() { return found_ ? std::string() : std::exchange(held_, {}); }

}  // namespace lathe
