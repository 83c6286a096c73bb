// The output file of a command, and checks that standard output was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lathe::cli {

/// The file that -o names. "-" is standard output: once this is constructed, messages of the command then go
/// to standard error.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& given);
  /// The path that the library writes to.
  const std::filesystem::path& path() const { return path_; }
  /// The name in messages.
  const std::string& name() const { return name_; }
  /// The size of the written file; nothing for a pipe or a device.
  std::optional<uint64_t> bytes() const;
  /// "out.onnx: 3.2 MiB"
  std::string report() const;

 private:
  std::filesystem::path path_;
  std::string name_;
};

/// Makes writes to standard output fail rather than end the process if nobody reads, and keeps files from
/// taking the descriptors of closed standard streams. To be called first.
void keep_standard_streams();

/// Flushes standard output. If that fails, says so on standard error and returns a failure.
int with_output_written(int exit_code);

/// Prints to standard output at once. Returns whether somebody still reads it: with_output_written() tells if
/// not.
[[nodiscard]] bool print_now(const std::string& text);

/// Prints to standard error, if that is possible.
void print_error(const std::string& text);

}  // namespace lathe::cli
