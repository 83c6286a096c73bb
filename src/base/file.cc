#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

namespace lathe {

Error file_error(Code code, const std::filesystem::path& path, std::string expected, std::string got,
                 std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = "file";
  d.node = path.string();
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return Error(std::move(d));
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File open_regular(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
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

MappedBytes map_file(const File& f, const std::filesystem::path& path) {
  const uint64_t n = size_of(f, path);
  if (n == 0) return {};
  void* p = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, f.get(), 0);
  if (p == MAP_FAILED)
    throw file_error(Code::file_unreadable, path, "a file that can be mapped", std::strerror(errno),
                     "check address-space limits");
  std::shared_ptr<const void> owner(p, [n](const void* at) { ::munmap(const_cast<void*>(at), n); });
  return {{static_cast<const char*>(p), n}, std::move(owner)};
}

MappedBytes read_file(const File& f, const std::filesystem::path& path) {
  auto bytes = std::make_shared<std::string>();
  try {
    bytes->resize(size_of(f, path));
  } catch (const std::exception&) {
    throw file_error(Code::run_out_of_memory, path, "memory for the file", "none left",
                     "map it instead, or give the process more memory");
  }
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t n = ::pread(f.get(), bytes->data() + done, bytes->size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw file_error(Code::file_unreadable, path, std::to_string(bytes->size()) + " bytes",
                       std::to_string(done), "the file became shorter while it was read");
    done += static_cast<size_t>(n);
  }
  const std::string_view view = *bytes;
  return {view, std::move(bytes)};
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), beside_(path_) {
  beside_ += "." + std::to_string(std::random_device{}()) + ".tmp";
  file_ = File(::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_)
    throw file_error(Code::file_write_failed, path_, "a folder that can be written", std::strerror(errno),
                     "check that the folder exists and its permissions");
}

AtomicFile::~AtomicFile() {
  if (!committed_ && file_) ::unlink(beside_.c_str());
}

void AtomicFile::flush() {
  const char* p = buffer_.data();
  size_t left = buffer_.size();
  while (left) {
    const ssize_t n = ::write(file_.get(), p, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw file_error(Code::file_write_failed, path_, "space for the file", std::strerror(errno),
                       "free some space");
    p += n;
    left -= static_cast<size_t>(n);
  }
  buffer_.clear();
}

void AtomicFile::write(std::string_view bytes) {
  constexpr size_t chunk = 1 << 20;
  written_ += bytes.size();
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), chunk - std::min(chunk, buffer_.size()));
    buffer_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (buffer_.size() >= chunk) flush();
  }
}

void AtomicFile::pad(uint64_t alignment) {
  if (const uint64_t over = written_ % alignment) write(std::string(alignment - over, '\0'));
}

void AtomicFile::commit() {
  flush();
  if (::rename(beside_.c_str(), path_.c_str()) != 0)
    throw file_error(Code::file_write_failed, path_, "a target that can be replaced", std::strerror(errno),
                     "check that it is not a folder");
  committed_ = true;
}

}  // namespace lathe
