// A quiet thread pool: workers look for work for some tens of microseconds after a job and then sleep in the
// kernel. They are not woken for work that would be done before they run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "kernel/kernel.h"
#include "lathe/executor.h"
#include "runtime/worker_processors.h"

namespace lathe {

/// Runs loops on several threads. Thread-safe: when two threads call at once, the second does its loop alone,
/// without waiting. Never pins threads: the operating system and the cpuset decide where they run, except for
/// workers that would wake up on the processor of their caller (WorkerProcessors).
class ThreadPool {
 public:
  /// `threads` counts the caller: 1 starts none. With an executor, that one's threads do the work instead.
  explicit ThreadPool(int threads, std::shared_ptr<Executor> executor = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  using Loop = FunctionRef<void(int64_t begin, int64_t end)>;
  /// Calls f over [0, n) in pieces; returns when all are done and throws the first exception. The pieces
  /// follow from n and grain alone. Called from inside a piece, it runs on that thread. `flush_denormals`
  /// holds for all threads that take part.
  void run(int64_t n, int64_t grain, bool flush_denormals, Loop f);

  using StepLoop = FunctionRef<void(int64_t step, int64_t begin, int64_t end)>;
  /// The same for each of so many steps, one after the other: threads wait for one another in between, but
  /// stay.
  void run_steps(int64_t steps, int64_t n, int64_t grain, bool flush_denormals, StepLoop f);

  /// Called now and then by the thread that works on a piece: wakes workers that still sleep, if the work has
  /// turned out to take long enough.
  static void wake_if_late();

  /// The same on this thread alone.
  static void run_alone(int64_t steps, int64_t n, int64_t grain, StepLoop f);

  /// Length of the pieces that `run` makes.
  static int64_t piece_length(int64_t n, int64_t grain);

 private:
  struct Job;
  void work(int64_t thread);
  static void drain(Job& job, int64_t thread);
  void run_on_workers(Job& job);
  void run_while_they_sleep(Job& job);
  void wake_for(Job& job);
  void run_on_executor(Job& job);

  int threads_;
  std::shared_ptr<Executor> executor_;
  WorkerProcessors processors_;
  std::vector<std::thread> workers_;
  std::atomic<bool> busy_{false};    // somebody's job has the workers
  std::atomic<uint32_t> epoch_{0};   // changes with every job: what sleepers watch
  std::atomic<Job*> job_{nullptr};   // the job that is open for workers
  std::atomic<uint32_t> active_{0};  // workers that may be looking at a job
  std::atomic<int> asleep_{0};       // workers that are, or are about to be
  std::atomic<bool> helped_{true};   // has one come in time, since they last slept?
  std::atomic<bool> stop_{false};

  // For the caller that has the workers: the job that it does while they sleep, when it will wake them, and
  // the end of the last job that began so.
  Job* waiting_ = nullptr;
  std::chrono::steady_clock::time_point wake_at_{}, last_asleep_{};
};

}  // namespace lathe
