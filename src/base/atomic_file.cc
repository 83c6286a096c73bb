// Files that are written beside their target and replace it when they are complete. Devices and pipes are
// written to directly.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>
#include <set>

#include "base/file.h"
#include "base/mappings.h"
#include "base/scratch_file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// Bytes that are written at once.
constexpr size_t piece = size_t{1} << 20;

/// The error of a failed write, with the system's message.
Error write_failed(const fs::path& path) {
  const int why = errno;
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return file_error(Code::file_write_failed, path, full ? "space for the file" : "a target that takes it",
                    std::strerror(why), full ? "free some space" : "see what is at the other end");
}
Error cannot_open(const fs::path& path) {
  return file_error(Code::file_write_failed, path, "a folder that can be written", std::strerror(errno),
                    "check that the folder exists and its permissions");
}

/// Returns the descriptor of this process that a path names.
std::optional<int> descriptor_of(const fs::path& path) {
  const std::string& text = path.native();
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!text.starts_with(folder)) continue;
    int n = -1;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data() + folder.size(), end, n);
    if (failed == std::errc() && stop == end && n >= 0) return n;
  }
  return std::nullopt;
}

/// The file that a symbolic link leads to, whether or not there is one yet.
fs::path behind_links(fs::path path) {
  constexpr int most = 40;  // as Linux has it
  for (int i = 0; i < most; ++i) {
    std::error_code failed;
    const fs::path to = fs::read_symlink(path, failed);
    if (failed) return path;
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  errno = ELOOP;
  throw cannot_open(path);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Returns an unused name that is not too long for any folder.
fs::path name_temporary(const fs::path& target) {
  constexpr size_t longest = 200;
  return folder_of(target) / (target.filename().string().substr(0, longest) + "." +
                              std::to_string(std::random_device{}()) + ".tmp");
}

bool same_owner(const struct stat& a, const struct stat& b) {
  return a.st_uid == b.st_uid && a.st_gid == b.st_gid;
}

}  // namespace

void sync(const fs::path& path) {
  const File opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened) ::fsync(opened.get());
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (const auto descriptor = descriptor_of(path_)) {
    how_ = How::stream;
    file_ = File(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
    if (!file_) throw write_failed(path_);
    return;
  }
  target_ = behind_links(path_);
  struct stat there;
  const bool exists = ::stat(target_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode))
    throw file_error(Code::file_write_failed, path_, "a file, or nothing yet", "a folder",
                     "name a file in it");
  if (!exists || S_ISREG(there.st_mode)) {
    open_temporary(exists ? &there : nullptr);
    return;
  }
  how_ = How::stream;
  file_ = File(::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file_) throw write_failed(path_);
}

/// `there`: the file that will be replaced, whose mode and owner stay.
void AtomicFile::open_temporary(const struct stat* there) {
  temporary_ = name_temporary(target_);
  const OneStep known_at_once;
  file_ = File(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, there ? 0600 : 0666));
  const int refused = file_ ? 0 : errno;
  if (!file_ && (!there || (refused != EACCES && refused != EPERM && refused != EROFS)))
    throw cannot_open(path_);
  if (file_) unfinished_.emplace(temporary_);
  struct stat made;
  if (!there) return;
  const bool takes_place =
      file_ && ::fstat(file_.get(), &made) == 0 &&
      (same_owner(made, *there) || ::fchown(file_.get(), there->st_uid, there->st_gid) == 0);
  if (takes_place) {
    ::fchmod(file_.get(), there->st_mode & 07777);
    return;
  }
  // If the folder is not writable, or the file has another owner, the file stays and gets other contents.
  if (::access(target_.c_str(), W_OK) != 0) {
    if (file_) return;  // replaced by a file of our own
    errno = refused;
    throw cannot_open(path_);
  }
  if (file_) ::unlink(temporary_.c_str());
  unfinished_.reset();
  how_ = How::copied;
  std::error_code ignored;
  file_ = File(::open(fs::temp_directory_path(ignored).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file_) throw write_failed(path_);
}

AtomicFile::~AtomicFile() {
  if (how_ == How::renamed && unfinished_) ::unlink(temporary_.c_str());
}

bool AtomicFile::is_stream(const fs::path& path) {
  struct stat there;
  return descriptor_of(path) ||
         (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode));
}

void AtomicFile::require_writable(const fs::path& path) {
  // Opening a pipe would have its reader see an end.
  if (!is_stream(path)) AtomicFile made(path);
}

bool AtomicFile::take_over(std::span<const std::string_view> parts) {
  int scratch = -1;
  std::set<off_t> begins;
  for (const std::string_view part : parts) {
    const auto place = mapped_whole(part);
    struct stat s;
    if (!place || ::fstat(place->descriptor, &s) != 0 || s.st_nlink != 0) continue;  // somebody's file
    if (scratch < 0) scratch = place->descriptor;
    if (scratch == place->descriptor) begins.insert(place->offset);
  }
  struct stat made;
  if (how_ != How::renamed || scratch < 0 || written_ > 0 || ::fstat(file_.get(), &made) != 0) return false;
  File taken(::fcntl(scratch, F_DUPFD_CLOEXEC, 0));
  const std::string unnamed = "/proc/self/fd/" + std::to_string(taken.get());
  fs::path named = temporary_;
  named += ".scratch";
  const OneStep named_no_longer_than_this;
  // In another file system there is no such name to be had.
  if (!taken || ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, named.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return false;
  const auto size = ScratchFile::give_away(scratch, begins.size());
  struct stat has;
  if (!size || ::fstat(taken.get(), &has) != 0 ||
      (!same_owner(has, made) && ::fchown(taken.get(), made.st_uid, made.st_gid) != 0) ||
      ::fchmod(taken.get(), made.st_mode & 07777) != 0 ||
      ::lseek(taken.get(), static_cast<off_t>(*size), SEEK_SET) < 0 ||
      ::rename(named.c_str(), temporary_.c_str()) != 0) {
    ::unlink(named.c_str());
    return false;
  }
  file_ = std::move(taken);
  taken_ = scratch;
  written_ = *size;
  return true;
}

std::optional<uint64_t> AtomicFile::place_of(std::string_view bytes) const {
  const auto place = taken_ < 0 ? std::nullopt : mapped_whole(bytes);
  if (!place || place->descriptor != taken_) return std::nullopt;
  return static_cast<uint64_t>(place->offset);
}

void AtomicFile::put(std::string_view bytes) {
  // Whole pieces of zeros are left out: weights of zeros cost no space, and tests of huge files no time.
  const bool zeros = how_ != How::stream && bytes.size() == piece && bytes[0] == '\0' &&
                     std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
  if (zeros && ::lseek(file_.get(), static_cast<off_t>(bytes.size()), SEEK_CUR) >= 0) return;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw write_failed(path_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

bool AtomicFile::copy_mapped(std::string_view bytes) {
  const auto place = how_ == How::stream ? std::nullopt : mapped_range(bytes);
  if (!place) return false;
  flush();
  const off_t begin = place->offset, end = begin + static_cast<off_t>(bytes.size());
  const auto require_whole = [&] {
    struct stat s;
    if (::fstat(place->descriptor, &s) != 0 || s.st_size < end)
      throw file_error(Code::external_truncated, path_, "a file to copy from that stays as long as it is",
                       "one that became shorter", "write it again");
  };
  for (off_t at = begin; at < end;) {
    // Holes stay holes. A file system that knows none says that all is data.
    const off_t found = ::lseek(place->descriptor, at, SEEK_DATA);
    const off_t data = found >= 0 ? std::min(found, end) : errno == ENXIO ? end : at;
    if (::lseek(file_.get(), data - at, SEEK_CUR) < 0) throw write_failed(path_);
    at = data;
    const off_t hole = ::lseek(place->descriptor, at, SEEK_HOLE),
                until = hole > at ? std::min(hole, end) : end;
    while (at < until) {
      const auto left = static_cast<size_t>(until - at);
      const ssize_t n = ::copy_file_range(place->descriptor, &at, file_.get(), nullptr, left, 0);
      if (n > 0) write_behind(file_.get(), ::lseek(file_.get(), 0, SEEK_CUR) - n, n);
      if (n > 0 || (n < 0 && errno == EINTR)) continue;
      // The system cannot copy between these file systems, unless there is nothing left to copy.
      require_whole();
      put(bytes.substr(static_cast<size_t>(at - begin), left));
      at = until;
    }
  }
  require_whole();
  return true;
}

void AtomicFile::flush() {
  put(buffer_);
  buffer_.clear();
}

void AtomicFile::write(std::string_view bytes) {
  written_ += bytes.size();
  if (bytes.size() >= piece && copy_mapped(bytes)) return;
  while (!bytes.empty()) {
    if (buffer_.empty() && bytes.size() >= piece) {
      put(bytes.substr(0, piece));
      bytes.remove_prefix(piece);
      continue;
    }
    const size_t n = std::min(bytes.size(), piece - buffer_.size());
    buffer_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (buffer_.size() == piece) flush();
  }
}

void AtomicFile::pad(uint64_t alignment) {
  if (const uint64_t over = written_ % alignment) write(std::string(alignment - over, '\0'));
}

void AtomicFile::finish() {
  flush();
  if (how_ != How::stream && ::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0)
    throw write_failed(path_);  // the file may end in a hole
  // A pipe or a device has nothing to be asked for.
  if (::fsync(file_.get()) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
    throw write_failed(path_);
}

void AtomicFile::overwrite() {
  const File to(::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!to) throw write_failed(path_);
  std::string some(piece, '\0');
  for (off_t at = 0; at < static_cast<off_t>(written_);) {
    const ssize_t n = ::pread(file_.get(), some.data(), some.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw write_failed(path_);
    for (ssize_t done = 0; done < n;) {
      const ssize_t put = ::write(to.get(), some.data() + done, static_cast<size_t>(n - done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) throw write_failed(path_);
      done += put;
    }
    at += n;
  }
  if (::fsync(to.get()) != 0) throw write_failed(path_);
}

bool AtomicFile::place_as(const fs::path& name) {
  const OneStep step;
  if (how_ != How::renamed || ::rename(temporary_.c_str(), name.c_str()) != 0) return false;
  unfinished_.reset();
  return true;
}

void AtomicFile::place(bool flush) {
  const OneStep step;
  if (how_ == How::copied) overwrite();
  if (how_ != How::renamed) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    throw file_error(Code::file_write_failed, path_, "a target that can be replaced", std::strerror(errno),
                     "check that it is not a folder");
  unfinished_.reset();
  if (flush) sync(folder_of(target_));  // the name is on the disk once the folder is
}

void AtomicFile::commit() {
  finish();
  place();
}

}  // namespace lathe
