#include "runtime/worker_processors.h"

#if defined(__linux__)

#include <sys/syscall.h>
#include <unistd.h>

namespace lathe {

WorkerProcessors::WorkerProcessors(int workers)
    : workers_(workers), each_(std::make_unique<Worker[]>(static_cast<size_t>(workers))) {}

void WorkerProcessors::woken(int worker) {
  Worker& w = each_[static_cast<size_t>(worker)];
  if (w.thread.load(std::memory_order_relaxed) != 0 ||
      sched_getcpu() != caller_.load(std::memory_order_relaxed))
    return;
  w.thread.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  crowded_.store(true, std::memory_order_relaxed);
}

void WorkerProcessors::wake_elsewhere() {
  const int here = sched_getcpu();
  caller_.store(here, std::memory_order_relaxed);
  if (!crowded_.load(std::memory_order_relaxed) || here < 0) return;
  for (int i = 0; i < workers_; ++i) keep_off(each_[static_cast<size_t>(i)], here);
}

void WorkerProcessors::keep_off(Worker& w, int processor) const {
  const pid_t thread = w.thread.load(std::memory_order_relaxed);
  if (thread == 0 || w.avoids == processor || processor >= CPU_SETSIZE) return;
  w.avoids = processor;
  cpu_set_t now;
  if (sched_getaffinity(thread, sizeof now, &now) != 0) return;
  if (!CPU_EQUAL(&now, &w.set)) w.wished = now;
  w.set = w.wished;
  // More threads than processors share them all.
  if (CPU_COUNT(&w.set) > workers_) CPU_CLR(processor, &w.set);
  if (!CPU_EQUAL(&now, &w.set)) sched_setaffinity(thread, sizeof w.set, &w.set);
}

}  // namespace lathe

#else

namespace lathe {
WorkerProcessors::WorkerProcessors(int) {}
void WorkerProcessors::woken(int) {}
void WorkerProcessors::wake_elsewhere() {}
}  // namespace lathe

#endif
