#include "text.h"

#include <fmt/core.h>

#include <algorithm>

namespace lathe::cli {

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double x = static_cast<double>(bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (x /= 1024; x >= 1024 && unit < 5; ++unit) x /= 1024;
  return fmt::format("{:.1f} {}", x, units[unit]);
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string count_text(double count) {
  if (count < 1000) return fmt::format("{:.0f}", count);
  const char* units[] = {"k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  for (count /= 1000; count >= 1000 && unit < 5; ++unit) count /= 1000;
  return fmt::format("{:.2f} {}", count, units[unit]);
}

std::string counted(uint64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, '?');
  return text;
}

std::string join(const std::vector<std::string>& items, const std::string& between) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i ? between : "") + items[i];
  return text;
}

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows_) {
    std::string line = indent_;
    for (size_t i = 0; i < row.size(); ++i)
      line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
    fmt::print("{}\n", line);
  }
}

}  // namespace lathe::cli
