#include "base/fault.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "lathe/error.h"

namespace lathe {
namespace {

/// Worked out beforehand: a signal handler may not allocate.
std::string& sentence() {
  static std::string text =
      std::string(Error(Code::external_truncated, "file", "a mapped file that stays as it is",
                        "one that became shorter", "do not change files while they are in use")
                      .what()) +
      "\n";
  return text;
}

extern "C" void on_bus_error(int) {
  const std::string& s = sentence();
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, s.data(), s.size());
  ::_exit(1);
}

}  // namespace

void exit_on_truncated_mapping() {
  sentence();
  struct sigaction action = {};
  action.sa_handler = on_bus_error;
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace lathe
