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
  /// True where a mapped file has become shorter: touching what is missing raises SIGBUS.
  virtual bool truncated() const = 0;
  /// Lets go of the pages that were touched so far: they come back when touched again.
  virtual void drop_pages() const = 0;

 protected:
  explicit FileBytes(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::string_view view_;
};
/// Maps the whole file: pages are loaded when touched. Throws file_unreadable.
std::shared_ptr<const FileBytes> map_file(File f, const std::filesystem::path& path);
/// Lets go of the pages of this range, where it is part of a file mapped by map_file; of other memory none.
/// Neighbours that the system brings with them (up to 2 MB) go as well. They come back when touched.
/// Thread-safe.
void drop_mapped_pages(const void* data, size_t bytes);
/// Ranges whose pages are let go together, a few megabytes at a time and the rest at the end: each time takes
/// as long as looking through 2 MB, and neighbours that are still wanted would be mapped anew. Thread-safe.
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
/// Is this range part of such a file? Thread-safe.
bool is_mapped(const void* data, size_t bytes);
/// Copies this range to `to` from the file itself, where it is part of one mapped by map_file: that takes
/// less time than to touch the pages of the mapping, and leaves none of them behind. False, and anything at
/// `to`, where it is not, or the file cannot be read. Thread-safe.
bool read_mapped(const void* data, size_t bytes, void* to);
/// Reads the whole file into memory of our own: what happens to it afterwards does not matter. Throws
/// file_unreadable, run_out_of_memory.
/// `ask` is called between pieces, and may throw.
std::shared_ptr<const FileBytes> read_file(File f, const std::filesystem::path& path,
                                           const std::function<void()>& ask = {});

/// Has a file, or the names in a folder, be on the disk, where the file system can be asked for it.
void sync(const std::filesystem::path& path);

/// Writes a file beside `path` and renames it on commit(); without commit nothing is left, nor when a signal
/// ends the process (see unfinished.h). Long runs of zeros become holes. A symbolic link stays one: what it
/// leads to is replaced. Mode and owner of a file that is replaced stay; where they could not, its contents
/// alone are. What is neither a file nor a folder (a device, a pipe, /dev/fd/3) is written to as it comes.
/// Throws file_write_failed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Throws what the constructor would, and leaves everything as it is.
  static void require_writable(const std::filesystem::path& path);
  /// Is it a device, a pipe, a descriptor? There is nothing beside it then.
  static bool is_stream(const std::filesystem::path& path);
  void write(std::string_view bytes);
  /// Zeros up to a multiple of `alignment`.
  void pad(uint64_t alignment);
  uint64_t written() const { return written_; }
  /// Makes the scratch file that all of these were mapped from the beginning of this one, so that they need
  /// not be written again, and later changes of that memory are changes of the file. False, and nothing is
  /// done, where the scratch file holds anything else, lies in another file system, or there is none.
  bool take_over(std::span<const std::string_view> parts);
  /// Where such a part lies in this file.
  std::optional<uint64_t> place_of(std::string_view part) const;
  /// finish() and place().
  void commit();
  /// All that was written is on the disk, under no name yet.
  void finish();
  /// What is finished takes the place of the target. `flush`: and this is on the disk.
  void place(bool flush = true);
  /// What is finished gets another name, for good. False where it cannot.
  bool place_as(const std::filesystem::path& name);
  /// The file that is replaced: where links lead to.
  const std::filesystem::path& target() const { return target_; }

 private:
  enum class How : uint8_t { renamed, copied, stream };
  void open_beside(const struct stat* there);
  void flush();
  /// Lets the system copy what lies in a mapped file, where it does: nothing goes through this process's
  /// memory.
  bool copy_mapped(std::string_view bytes);
  void put(std::string_view bytes);
  void overwrite();
  std::filesystem::path path_, target_, beside_;
  How how_ = How::renamed;
  File file_;
  std::optional<Unfinished> unfinished_;
  std::string buffer_;
  uint64_t written_ = 0;
  int taken_ = -1;  // the descriptor of the scratch file that was taken over
};

}  // namespace lathe
