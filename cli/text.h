// Formats numbers and tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::cli {

/// "1.5 MiB".
std::string bytes_text(uint64_t bytes);
/// "12.3 ms".
std::string time_text(double seconds);
/// "1.82 G": in thousands.
std::string count_text(double count);

/// "1 step", "2 steps".
std::string counted(uint64_t count, const std::string& noun);

/// Columns that line up, two spaces between them; the first row may be a heading.
class Table {
 public:
  explicit Table(std::string indent = "  ") : indent_(std::move(indent)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// Prints to standard output.
  void print() const;

 private:
  std::string indent_;
  std::vector<std::vector<std::string>> rows_;
};

/// Text from files may be anything: without line ends and the control sequences of terminals.
std::string printable(std::string text);

std::string join(const std::vector<std::string>& items, const std::string& between);

}  // namespace lathe::cli
