// Files, opened once and mapped or read; and written beside their target, then renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lathe/error.h"

namespace lathe {

/// An error about a file: its path stands where a node's name would.
Error file_error(Code code, const std::filesystem::path& path, std::string expected, std::string got,
                 std::string remedy);

/// An open descriptor; closes itself.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : fd_(descriptor) {}
  File(File&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  File& operator=(File&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~File();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Opens a regular file for reading. Throws file_not_found, file_not_regular, file_unreadable.
File open_regular(const std::filesystem::path& path);
uint64_t size_of(const File& f, const std::filesystem::path& path);

/// Bytes of a file and what keeps them alive.
struct MappedBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};
/// Maps the whole file: pages are loaded when touched. A file that shrinks while mapped raises SIGBUS on
/// touch.
MappedBytes map_file(const File& f, const std::filesystem::path& path);
/// Reads the whole file into memory of our own: what happens to it afterwards does not matter.
MappedBytes read_file(const File& f, const std::filesystem::path& path);

/// Writes a file beside `path` and renames it on commit(); without commit nothing is left. Throws
/// file_write_failed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::string_view bytes);
  /// Zeros up to a multiple of `alignment`.
  void pad(uint64_t alignment);
  uint64_t written() const { return written_; }
  void commit();

 private:
  void flush();
  std::filesystem::path path_, beside_;
  File file_;
  std::string buffer_;
  uint64_t written_ = 0;
  bool committed_ = false;
};

}  // namespace lathe
