#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace lathe {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t changed = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

/// Returns whether one is the other below some module or folder: "fc.weight" of "model.fc.weight".
bool ends_with_path(std::string_view whole, std::string_view end) {
  if (end.empty() || whole.size() <= end.size() || !whole.ends_with(end)) return false;
  const char before = whole[whole.size() - end.size() - 1];
  return before == '.' || before == '/';
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& known,
                                       size_t count) {
  std::vector<std::pair<size_t, std::string>> scored;
  const std::string_view whole = wanted;
  wanted = wanted.substr(0, 64);
  const size_t far = std::max<size_t>(2, wanted.size() / 3);
  for (const std::string& k : known) {
    if (ends_with_path(k, whole) || ends_with_path(whole, k)) {
      scored.emplace_back(0, k);
      continue;
    }
    if (k.size() > wanted.size() + far) continue;  // names in files may be of any length
    const size_t d = edit_distance(wanted, k);
    if (d <= far) scored.emplace_back(d, k);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::string> best;
  for (size_t i = 0; i < scored.size() && i < count; ++i) best.push_back(scored[i].second);
  return best;
}

}  // namespace lathe
