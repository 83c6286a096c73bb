// Files, opened once and mapped or read; and written beside their target, then renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unfinished.h"
#include "lathe/error.h"

struct stat;

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

/// The bytes of a file, mapped or read; whoever shares it keeps them alive. Thread-safe.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  std::string_view view() const { return view_; }
  const std::filesystem::path& path() const { return path_; }
  /// Returns true if a mapped file has become shorter: reading the missing part raises SIGBUS.
  virtual bool truncated() const = 0;
  /// Drops the pages that were touched so far: they are read again when they are touched.
  virtual void drop_pages() const = 0;

 protected:
  explicit FileBytes(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::string_view view_;
};
/// Maps the whole file: pages are loaded when touched. Throws file_unreadable.
std::shared_ptr<const FileBytes> map_file(File f, const std::filesystem::path& path);
/// Drops the pages of this range, if it is part of a file mapped by map_file; does nothing for other memory.
/// Neighbors that the system reads with them (up to 2 MB) are dropped too. They are read again when touched.
/// Thread-safe.
void drop_mapped_pages(const void* data, size_t bytes);
/// Ranges whose pages are dropped together, a few megabytes at a time and the rest at the end: each time
/// takes as long as reading 2 MB, and neighbors that are still needed would be mapped again. Thread-safe.
class MappedPages {
 public:
  MappedPages() = default;
  ~MappedPages() { drop(); }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  void drop_soon(const void* data, size_t bytes);

 private:
  void drop();
  std::mutex mutex_;
  std::vector<std::string_view> ranges_;
  size_t bytes_ = 0;
};
/// Returns whether this range is part of such a file. Thread-safe.
bool is_mapped(const void* data, size_t bytes);
/// Copies this range to `to` from the file itself, if it is part of one mapped by map_file: that takes less
/// time than to touch the pages of the mapping, and leaves none of them in memory. False, with undefined
/// bytes at `to`, if it is not, or if the file cannot be read. Thread-safe.
bool read_mapped(const void* data, size_t bytes, void* to);
/// Reads the whole file into memory of our own: what happens to it afterwards does not matter. Throws
/// file_unreadable, run_out_of_memory.
/// `poll` is called between pieces, and may throw.
std::shared_ptr<const FileBytes> read_file(File f, const std::filesystem::path& path,
                                           const std::function<void()>& poll = {});

/// Flushes a file, or the names in a folder, to the disk, if the file system supports it.
void sync(const std::filesystem::path& path);

/// Writes a file beside `path` and renames it on commit(); without commit nothing is left, nor when a signal
/// ends the process (see unfinished.h). Long runs of zeros become holes. A symbolic link stays one: its
/// target is replaced. Mode and owner of a file that is replaced stay; if that is not possible, only its
/// contents are replaced. A path that is neither a file nor a folder (a device, a pipe, /dev/fd/3) is written
/// to directly. Throws file_write_failed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Throws what the constructor would throw, without changing anything.
  static void require_writable(const std::filesystem::path& path);
  /// Returns whether the path is a device, a pipe or a descriptor, beside which no file can be written.
  static bool is_stream(const std::filesystem::path& path);
  void write(std::string_view bytes);
  /// Zeros up to a multiple of `alignment`.
  void pad(uint64_t alignment);
  uint64_t written() const { return written_; }
  /// Makes the scratch file that all of these were mapped from the beginning of this one, so that they need
  /// not be written again, and later changes of that memory are changes of the file. False, and nothing is
  /// done, if the scratch file holds anything else, is in another file system, or there is none.
  bool take_over(std::span<const std::string_view> parts);
  /// The offset of such a part in this file.
  std::optional<uint64_t> place_of(std::string_view part) const;
  /// finish() and place().
  void commit();
  /// Flushes everything to the disk, still without the final name.
  void finish();
  /// Replaces the target by the finished file. `flush`: and flushes that to the disk.
  void place(bool flush = true);
  /// Gives the finished file another final name. False if that is not possible.
  bool place_as(const std::filesystem::path& name);
  /// The file that is replaced, with links followed.
  const std::filesystem::path& target() const { return target_; }

 private:
  enum class How : uint8_t { renamed, copied, stream };
  void open_temporary(const struct stat* there);
  void flush();
  /// If the bytes are in a mapped file, lets the system copy them, so that nothing goes through this
  /// process's memory.
  bool copy_mapped(std::string_view bytes);
  void put(std::string_view bytes);
  void overwrite();
  std::filesystem::path path_, target_, temporary_;
  How how_ = How::renamed;
  File file_;
  std::optional<Unfinished> unfinished_;
  std::string buffer_;
  uint64_t written_ = 0;
  int taken_ = -1;  // the descriptor of the scratch file that was taken over
};

}  // namespace lathe
