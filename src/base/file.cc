#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "base/error_about.h"
#include "base/mappings.h"
#include "base/scratch_file.h"

namespace lathe {
void write_behind(int descriptor, off_t at, off_t bytes) {
  // Finding new pages takes a virtual machine longer than its disk does, and other programs' would go for
  // these.
  constexpr off_t kept_in_memory = off_t{1} << 30, lag = off_t{64} << 20;
  if (at < kept_in_memory) return;
  ::sync_file_range(descriptor, at, bytes, SYNC_FILE_RANGE_WRITE);
  ::sync_file_range(descriptor, at - lag, bytes,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(descriptor, at - lag, bytes, POSIX_FADV_DONTNEED);
}

Error file_error(Code code, const std::filesystem::path& path, std::string expected, std::string got,
                 std::string remedy) {
  return error_about(code, "file", path.string(), std::move(expected), std::move(got), std::move(remedy));
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK: else opening a FIFO would wait for a writer.
  File f(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!f) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw file_error(Code::file_not_found, path, "a file", "none of that name", "check the path");
    throw file_error(Code::file_unreadable, path, "a file that can be opened", std::strerror(errno),
                     "check its permissions");
  }
  struct stat s;
  if (::fstat(f.get(), &s) != 0 || !S_ISREG(s.st_mode))
    throw file_error(Code::file_not_regular, path, "a regular file",
                     S_ISDIR(s.st_mode) ? "a directory" : "something else", "give the path of a file");
  return f;
}

uint64_t size_of(const File& f, const std::filesystem::path& path) {
  struct stat s;
  if (::fstat(f.get(), &s) != 0)
    throw file_error(Code::file_unreadable, path, "a file with a size", std::strerror(errno),
                     "check the disk");
  return static_cast<uint64_t>(s.st_size);
}

namespace {

/// How many of so many bytes at a place of a file could be read.
size_t read_at(int descriptor, char* to, size_t bytes, off_t from) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(descriptor, to + done, bytes - done, from + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

/// The mapped files. Only their pages may be dropped: those of other memory would lose their contents.
class Mappings {
 public:
  static Mappings& all() {
    static Mappings mappings;
    return mappings;
  }
  void add(std::string_view view, int descriptor, off_t offset = 0) {
    const std::lock_guard lock(mutex_);
    views_[view.data()] = {view.size(), descriptor, offset};
  }
  using Place = MappedRange;
  std::optional<Place> find(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = around(bytes.data(), bytes.size());
    if (at == views_.end()) return std::nullopt;
    return Place{at->second.descriptor, at->second.offset + (bytes.data() - at->first)};
  }
  /// Finds a range that is a whole mapping, and not a part of one.
  std::optional<Place> find_whole(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = views_.find(bytes.data());
    if (at == views_.end() || at->second.size != bytes.size()) return std::nullopt;
    return Place{at->second.descriptor, at->second.offset};
  }
  void remove(std::string_view view) {
    const std::lock_guard lock(mutex_);
    views_.erase(view.data());
  }
  void drop_pages(const char* data, size_t bytes) {
    const std::lock_guard lock(mutex_);  // nobody unmaps meanwhile
    const auto view = around(data, bytes);
    if (view == views_.end() || bytes == 0) return;
    constexpr uintptr_t together = uintptr_t{2} << 20;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(view->first), at = reinterpret_cast<uintptr_t>(data);
    const uintptr_t first = std::max(begin, at / together * together);
    const uintptr_t last = std::min((begin + view->second.size + page - 1) / page * page,
                                    (at + bytes + together - 1) / together * together);
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  bool hold(const char* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    return around(data, bytes) != views_.end();
  }

 private:
  struct View {
    size_t size;
    int descriptor;
    off_t offset;
  };
  std::map<const char*, View>::iterator around(const char* data, size_t bytes) {
    const auto after = views_.upper_bound(data);
    if (after == views_.begin()) return views_.end();
    const auto at = std::prev(after);
    return data + bytes <= at->first + at->second.size ? at : views_.end();
  }
  std::mutex mutex_;
  std::map<const char*, View> views_;
};

class MappedFile : public FileBytes {
 public:
  MappedFile(File f, const std::filesystem::path& path) : FileBytes(path), file_(std::move(f)) {
    const uint64_t n = size_of(file_, path);
    if (n == 0) return;
    void* p = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, file_.get(), 0);
    if (p == MAP_FAILED)
      throw file_error(Code::file_unreadable, path, "a file that can be mapped", std::strerror(errno),
                       "check the limits of the address space");
    view_ = {static_cast<const char*>(p), n};
    Mappings::all().add(view_, file_.get());
  }
  ~MappedFile() override {
    if (view_.empty()) return;
    Mappings::all().remove(view_);
    ::munmap(const_cast<char*>(view_.data()), view_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  bool truncated() const override {
    struct stat s;
    return ::fstat(file_.get(), &s) == 0 && static_cast<uint64_t>(s.st_size) < view_.size();
  }
  void drop_pages() const override {
    if (!view_.empty()) ::madvise(const_cast<char*>(view_.data()), view_.size(), MADV_DONTNEED);
  }

 private:
  File file_;
};

class CopiedFile : public FileBytes {
 public:
  CopiedFile(const File& f, const std::filesystem::path& path, const std::function<void()>& poll)
      : FileBytes(path) {
    const uint64_t n = size_of(f, path);
    try {
      bytes_ = std::make_unique_for_overwrite<char[]>(n);
    } catch (const std::bad_alloc&) {
      throw file_error(Code::run_out_of_memory, path, "memory for " + std::to_string(n) + " bytes",
                       "none left", "map the file instead, or give the process more memory");
    }
    for (uint64_t done = 0; done < n;) {
      if (poll) poll();
      const uint64_t piece = std::min(n - done, uint64_t{1} << 24);
      const uint64_t got = read_at(f.get(), bytes_.get() + done, piece, static_cast<off_t>(done));
      done += got;
      if (got < piece)
        throw file_error(Code::file_unreadable, path, std::to_string(n) + " bytes", std::to_string(done),
                         "the disk failed, or the file became shorter while it was read");
    }
    view_ = {bytes_.get(), n};
  }
  bool truncated() const override { return false; }
  void drop_pages() const override {}

 private:
  std::unique_ptr<char[]> bytes_;
};

}  // namespace

namespace {
thread_local std::filesystem::path scratch_folder;
}  // namespace

ScratchFolder::ScratchFolder(std::filesystem::path folder)
    : before_(std::exchange(scratch_folder, std::move(folder))) {}
ScratchFolder::~ScratchFolder() { scratch_folder = std::move(before_); }

class ScratchFile::Opened {
 public:
  /// Returns space in the open file of the folder, or in a new one; null if none can be made.
  static std::shared_ptr<Opened> take(size_t bytes, size_t& begin) {
    constexpr size_t page = size_t{1} << 16;  // of any system
    const std::lock_guard lock(mutex);
    // Not every file system has files without a name.
    auto file = scratch_folder.empty() ? nullptr : open_in(scratch_folder);
    std::error_code failed;
    if (!file) file = open_in(std::filesystem::temp_directory_path(failed));
    if (!file) return nullptr;
    ++file->parts_;
    begin = file->used_;
    file->used_ += (bytes + page - 1) / page * page;
    return file;
  }
  /// Returns the size of the file behind a descriptor, which is no scratch file from then on. Nothing if it
  /// is none, or if not just so many parts of it were taken.
  static std::optional<size_t> give_away(int descriptor, size_t parts) {
    const std::lock_guard lock(mutex);
    for (auto at = alive.begin(); at != alive.end(); ++at) {
      const auto file = at->second.lock();
      if (!file || file->descriptor.get() != descriptor || file->parts_ != parts) continue;
      alive.erase(at);
      return file->used_;
    }
    return std::nullopt;
  }
  explicit Opened(int fd) : descriptor(fd) {}
  const File descriptor;

 private:
  static std::shared_ptr<Opened> open_in(const std::filesystem::path& folder) {
    std::erase_if(alive, [](const auto& entry) { return entry.second.expired(); });
    auto file = alive[folder].lock();
    if (file) return file;
    file = std::make_shared<Opened>(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file->descriptor) return nullptr;
    alive[folder] = file;
    return file;
  }
  static inline std::mutex mutex;
  static inline std::map<std::filesystem::path, std::weak_ptr<Opened>> alive;
  size_t used_ = 0, parts_ = 0;
};

ScratchFile::ScratchFile(size_t bytes) : file_(Opened::take(bytes, begin_)), bytes_(bytes) {}

bool ScratchFile::write(std::string_view bytes) {
  // Zeros are left out, as AtomicFile does; the last byte says how long the file is.
  const bool zeros = written_ + bytes.size() < bytes_ && !bytes.empty() && bytes[0] == '\0' &&
                     std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
  const auto at = static_cast<off_t>(begin_ + written_);
  written_ += bytes.size();
  for (off_t done = 0; file_ && !zeros && done < static_cast<off_t>(bytes.size());) {
    const auto rest = bytes.substr(static_cast<size_t>(done));
    const ssize_t n = ::pwrite(file_->descriptor.get(), rest.data(), rest.size(), at + done);
    if (n <= 0 && errno != EINTR) file_.reset();
    if (n > 0) done += n;
  }
  if (file_ && !zeros) write_behind(file_->descriptor.get(), at, static_cast<off_t>(bytes.size()));
  return file_ != nullptr;
}

std::optional<size_t> ScratchFile::give_away(int descriptor, size_t parts) {
  return Opened::give_away(descriptor, parts);
}

std::shared_ptr<char> ScratchFile::map() {
  if (!file_) return nullptr;
  void* p = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_->descriptor.get(),
                   static_cast<off_t>(begin_));
  if (p == MAP_FAILED) return nullptr;
  const std::string_view view(static_cast<char*>(p), bytes_);
  Mappings::all().add(view, file_->descriptor.get(), static_cast<off_t>(begin_));
  return {static_cast<char*>(p), [view, file = file_](char* data) {
            Mappings::all().remove(view);
            ::munmap(data, view.size());
          }};
}

void drop_mapped_pages(const void* data, size_t bytes) {
  Mappings::all().drop_pages(static_cast<const char*>(data), bytes);
}
void MappedPages::drop_soon(const void* data, size_t bytes) {
  constexpr size_t together = size_t{4} << 20;
  const std::lock_guard lock(mutex_);
  ranges_.emplace_back(static_cast<const char*>(data), bytes);
  bytes_ += bytes;
  if (bytes_ >= together) drop();
}
void MappedPages::drop() {
  constexpr uintptr_t near = uintptr_t{1} << 20;
  const auto address = [](const char* p) { return reinterpret_cast<uintptr_t>(p); };
  std::ranges::sort(ranges_, std::less<>(), [](std::string_view r) { return r.data(); });
  for (size_t i = 0; i < ranges_.size();) {
    const char* const begin = ranges_[i].data();
    const char* end = begin + ranges_[i].size();
    while (++i < ranges_.size() && address(ranges_[i].data()) < address(end) + near) {
      const char* const next = std::max(end, ranges_[i].data() + ranges_[i].size());
      if (!is_mapped(begin, static_cast<size_t>(next - begin))) break;  // another file's
      end = next;
    }
    drop_mapped_pages(begin, static_cast<size_t>(end - begin));
  }
  ranges_.clear();
  bytes_ = 0;
}
std::optional<MappedRange> mapped_range(std::string_view bytes) { return Mappings::all().find(bytes); }
std::optional<MappedRange> mapped_whole(std::string_view bytes) { return Mappings::all().find_whole(bytes); }
bool is_mapped(const void* data, size_t bytes) {
  return Mappings::all().hold(static_cast<const char*>(data), bytes);
}
bool read_mapped(const void* data, size_t bytes, void* to) {
  const auto place = Mappings::all().find({static_cast<const char*>(data), bytes});
  return place && read_at(place->descriptor, static_cast<char*>(to), bytes, place->offset) == bytes;
}

std::shared_ptr<const FileBytes> map_file(File f, const std::filesystem::path& path) {
  return std::make_shared<MappedFile>(std::move(f), path);
}
std::shared_ptr<const FileBytes> read_file(File f, const std::filesystem::path& path,
                                           const std::function<void()>& poll) {
  return std::make_shared<CopiedFile>(f, path, poll);
}

}  // namespace lathe
