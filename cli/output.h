// Where what a command makes goes, and whether what it says got there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lathe::cli {

/// What -o names. "-" is standard output: what the command says goes to standard error then, from the moment
/// this is made.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& given);
  /// For the library to write to.
  const std::filesystem::path& path() const { return path_; }
  /// As people call it.
  const std::string& name() const { return name_; }
  /// How large what was written is: nothing of a pipe or a device.
  std::optional<uint64_t> bytes() const;
  /// "out.onnx: 3.2 MiB"
  std::string report() const;

 private:
  std::filesystem::path path_;
  std::string name_;
};

/// Has a write to standard output fail, not end the process, where nobody reads; and no file that is opened
/// take its place where it is closed. First of all.
void keep_standard_streams();

/// All that was said is out: else says so on standard error, and gives another exit code than success.
int with_output_written(int exit_code);

/// To standard error, where it can be said.
void tell(const std::string& text);

}  // namespace lathe::cli
