#include "stop_signals.h"

#include <signal.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "lathe/unfinished_files.h"

namespace lathe::cli {
namespace {

RunControl control;
std::atomic<int> received{0};
std::atomic<bool> in_order{false};

/// Waits for signals in a thread of its own, which may lock and allocate, as a handler may not.
[[noreturn]] void wait_for(const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    int none = 0;
    if (in_order && received.compare_exchange_strong(none, signal)) {
      control.cancel();
      continue;
    }
    remove_unfinished_files();
    // The signal is raised again, so that the parent process sees what ended this one.
    ::signal(signal, SIG_DFL);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, signal);
    pthread_sigmask(SIG_UNBLOCK, &this_one, nullptr);
    ::raise(signal);
  }
}

}  // namespace

void watch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int any : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited = {};
    sigaction(any, nullptr, &inherited);
    // A shell that starts something behind has it ignore SIGINT; nohup, SIGHUP.
    if (inherited.sa_handler != SIG_IGN) sigaddset(&signals, any);
  }
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  try {
    std::thread([signals] { wait_for(signals); }).detach();
  } catch (const std::system_error&) {  // no thread to be had: signals do what they always did
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
}

RunControl& stop_on_signals() {
  in_order = true;
  return control;
}

void go_on_after_signal() {
  control.reset();
  received = 0;
}

void end_on_signals() { in_order = false; }

int stop_signal() { return received; }

}  // namespace lathe::cli
