// Keeps the workers of a pool from waking up on the processor of their caller.
//
// Linux wakes a sleeping thread on the processor of the thread that wakes it when no other one counts as
// idle, and in a virtual machine a processor that the host has put to sleep does not. The worker then waits
// until its caller, which is busy with the same job, is interrupted: 2 to 4 ms, longer than many networks
// take. So a worker that has woken up where its caller was is kept off its caller's processor from then on.
// If that never happens, nothing is done.
#pragma once

#include <atomic>
#include <memory>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lathe {

/// The pool ensures that one thread at a time calls wake_elsewhere(); workers may call woken() at any time.
class WorkerProcessors {
 public:
  /// `workers`: how many there are beside the caller.
  explicit WorkerProcessors(int workers);

  /// Called by a worker when it has woken up (worker 0 is the first beside the caller).
  void woken(int worker);
  /// Called by the caller before it wakes the workers.
  void wake_elsewhere();

 private:
#if defined(__linux__)
  struct Worker {
    std::atomic<pid_t> thread{0};  // that has to be kept off, else 0
    int avoids = -1;
    // The affinity that others have set, and the one that was set here.
    cpu_set_t wished = {}, set = {};
  };
  void keep_off(Worker& worker, int processor) const;

  int workers_;
  std::unique_ptr<Worker[]> each_;
  std::atomic<int> caller_{-1};       // the processor it was on
  std::atomic<bool> crowded_{false};  // is any worker to be kept off?
#endif
};

}  // namespace lathe
