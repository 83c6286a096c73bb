#include "stop_signals.h"

#include <signal.h>

namespace lathe::cli {
namespace {

RunControl control;
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_stop(int signal) {
  int none = 0;
  const bool first = received.compare_exchange_strong(none, signal);
  for (const int any : {SIGINT, SIGTERM}) ::signal(any, SIG_DFL);
  if (first) return control.cancel();
  ::raise(signal);  // another thread caught the first one meanwhile; this one ends the process on return
}

}  // namespace

RunControl& stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);  // a second one waits until it is no longer caught
  for (const int any : {SIGINT, SIGTERM}) sigaddset(&action.sa_mask, any);
  for (const int any : {SIGINT, SIGTERM}) {
    struct sigaction inherited = {};
    sigaction(any, nullptr, &inherited);
    // A shell that starts something behind has it ignore SIGINT.
    if (inherited.sa_handler != SIG_IGN) sigaction(any, &action, nullptr);
  }
  return control;
}

int stop_signal() { return received.load(std::memory_order_relaxed); }

}  // namespace lathe::cli
