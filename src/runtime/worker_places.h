// Where the workers of a pool wake up.
//
// Linux wakes a sleeping thread on the processor of the thread that wakes it when no other one counts as
// idle, and in a virtual machine a processor that the host has put to sleep does not. The worker then waits
// until its caller, which is busy with the same job, is interrupted: 2 to 4 ms, longer than many networks
// take. So a worker that has woken up where its caller was is kept off its caller's processor from then on.
// Where that never happens nothing is done.
#pragma once

#include <atomic>
#include <memory>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lathe {

/// One caller at a time, which the pool sees to; workers at any time.
class WorkerPlaces {
 public:
  /// Of so many workers.
  explicit WorkerPlaces(int workers);

  /// By a worker, when it has woken up (worker 0 is the first beside the caller).
  void woken(int worker);
  /// By the caller, before it wakes them.
  void wake_elsewhere();

 private:
#if defined(__linux__)
  struct Worker {
    std::atomic<pid_t> thread{0};  // that has to be kept off, else 0
    int avoids = -1;
    // Where it may run, as others wish, and as was set here.
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
