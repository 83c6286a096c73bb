#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "output.h"

namespace lathe::cli {

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1) {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no thread to be had: then nobody is told
  }
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (shown_ && terminal_) print_error("\r\033[K");
}

void Progress::stage(std::string_view name, double fraction) {
  std::lock_guard lock(mutex_);
  stage_ = name;
  fraction_ = fraction;
}

void Progress::now(std::string what) {
  std::lock_guard lock(mutex_);
  what_ = std::move(what);
  stage_.clear();
  fraction_ = -1;
}

void Progress::watch() {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (auto next = start + 1s; !wake_.wait_until(lock, next, [&] { return done_; });
       next += terminal_ ? 200ms : std::chrono::milliseconds(10s))
    show(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void Progress::show(double seconds) {
  std::string line = fmt::format("lathe: {}", what_);
  if (!stage_.empty()) line += fmt::format(": {}", stage_);
  if (fraction_ >= 0) line += fmt::format(" {:.0f} %", 100 * fraction_);
  line += fmt::format(" ({:.0f} s)", seconds);
  print_error(fmt::format("{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n"));
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace lathe::cli
