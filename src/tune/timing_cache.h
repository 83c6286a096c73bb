// What was measured, by machine and problem: a JSON file that people can read, edit, merge and share.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Whose times: they mean nothing to another processor or another version of the library.
struct Machine {
  std::string cpu;  // "AMD EPYC …, family 25, model 17"
  std::vector<std::string> features;
  std::string version;  // of the library
  friend auto operator<=>(const Machine&, const Machine&) = default;
  static const Machine& here();
};

/// Of one problem, by the text of a tactic.
struct Timings {
  std::string chosen;
  std::map<std::string, double> microseconds;  // empty: a rule of thumb chose
};

using Problems = std::map<std::string, Timings>;

class TimingCache {
 public:
  /// Throws json_malformed, told the file; file_not_found and file_unreadable where there is none.
  static TimingCache read(const std::filesystem::path& path);
  static TimingCache parse(std::string_view text);
  std::string json() const;
  /// Beside the file, then renamed. Throws file_write_failed.
  void write(const std::filesystem::path& path) const;

  /// Null: nothing known.
  const Timings* find(const Machine& machine, const std::string& problem) const;
  void set(const Machine& machine, const std::string& problem, Timings t) {
    machines_[machine][problem] = std::move(t);
  }
  /// Takes in another cache: of two times for the same tactic the lesser, and of two choices the tactic that
  /// is then fastest.
  void merge(const TimingCache& other);
  const std::map<Machine, Problems>& machines() const { return machines_; }

 private:
  std::map<Machine, Problems> machines_;
};

}  // namespace lathe
