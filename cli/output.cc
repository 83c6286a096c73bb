#include "output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "command.h"
#include "text.h"

namespace lathe::cli {

OutputFile::OutputFile(const std::filesystem::path& given) : path_(given), name_(given.string()) {
  if (name_ != "-" && name_ != "/dev/stdout" && name_ != "/dev/fd/1" && name_ != "/proc/self/fd/1") return;
  name_ = "standard output";
  std::fflush(stdout);
  // A copy for the model; then everything that is said goes the other way.
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (copy < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw Error(Code::file_write_failed, "write", "standard output to write to", std::strerror(errno));
  path_ = "/dev/fd/" + std::to_string(copy);
}

std::optional<uint64_t> OutputFile::bytes() const {
  struct stat s;
  if (::stat(path_.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(s.st_size);
}

std::string OutputFile::report() const {
  const auto size = bytes();
  return name_ + ": " + (size ? bytes_text(*size) : "written");
}

void keep_standard_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free descriptor, which is this one; the wrong way round, so that using it fails as before.
    [[maybe_unused]] const int held = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int with_output_written(int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  if (written) return exit_code;
  const std::string why = errno ? std::strerror(errno) : "a write that failed";
  print_error(std::string(Error(Code::file_write_failed, "write",
                                "standard output that takes what is printed", why, "not all of it was")
                              .what()) +
              "\n");
  return exit_code == success ? static_cast<int>(command_line_at_fault) : exit_code;
}

bool print_now(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

void print_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace lathe::cli
