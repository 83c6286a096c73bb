#include "runtime/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "runtime/float_state.h"

namespace lathe {
namespace {

constexpr auto spin_time = std::chrono::microseconds(30);
constexpr int64_t most_pieces = 256;

/// Set while a thread works on a piece: loops inside it do not go parallel again.
thread_local bool inside_piece = false;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `a` is no longer `old`: briefly awake, then asleep.
void wait_for_change(const std::atomic<uint32_t>& a, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (a.load(std::memory_order_acquire) != old) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  a.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Job {
  Loop f;
  int64_t n, piece;
  bool flush_denormals;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};

  int64_t pieces() const { return n / piece + (n % piece != 0); }
};

ThreadPool::ThreadPool(int threads, std::shared_ptr<Executor> executor)
    : threads_(std::max(1, executor ? executor->concurrency() : threads)), executor_(std::move(executor)) {
  if (executor_) return;
  try {
    for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // a limit on processes: fewer threads are no reason to fail
    threads_ = static_cast<int>(workers_.size()) + 1;
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& t : workers_) t.join();
}

int64_t ThreadPool::piece_length(int64_t n, int64_t grain) {
  return std::max({grain, int64_t{1}, n / most_pieces + (n % most_pieces != 0)});
}

void ThreadPool::run(int64_t n, int64_t grain, bool flush_denormals, Loop f) {
  if (n <= 0) return;
  Job job{f, n, piece_length(n, grain), flush_denormals};
  const bool alone = threads_ == 1 || inside_piece || job.pieces() == 1;
  if (!alone && executor_) {
    run_on_executor(job);
  } else if (!alone && !busy_.exchange(true, std::memory_order_acquire)) {
    run_on_workers(job);
    busy_.store(false, std::memory_order_release);
  } else {
    const FloatState state(flush_denormals);
    for (int64_t begin = 0; begin < n; begin += job.piece) f(begin, std::min(n, begin + job.piece));
  }
  if (job.error) std::rethrow_exception(job.error);
}

void ThreadPool::drain(Job& job) {
  const FloatState state(job.flush_denormals);
  const bool outer = std::exchange(inside_piece, true);
  const int64_t pieces = job.pieces();
  while (!job.failed.load(std::memory_order_relaxed)) {
    const int64_t i = job.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= pieces) break;
    try {
      job.f(i * job.piece, std::min(job.n, (i + 1) * job.piece));
    } catch (...) {
      if (!job.failed.exchange(true)) job.error = std::current_exception();
    }
  }
  inside_piece = outer;
}

// A worker counts itself active before it looks for a job, and the caller closes the job before it waits for
// the active ones to leave: so either the worker finds nothing, or the caller waits for it. The job lives on
// the caller's stack.
void ThreadPool::run_on_workers(Job& job) {
  job_.store(&job);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  drain(job);
  job_.store(nullptr);
  for (uint32_t active = active_.load(); active != 0; active = active_.load())
    wait_for_change(active_, active);
}

void ThreadPool::work() {
  uint32_t seen = 0;
  for (;;) {
    wait_for_change(epoch_, seen);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    active_.fetch_add(1);
    if (Job* job = job_.load()) drain(*job);
    if (active_.fetch_sub(1) == 1) active_.notify_all();
  }
}

void ThreadPool::run_on_executor(Job& job) {
  const int n = static_cast<int>(std::min<int64_t>(threads_, job.pieces()));
  executor_->run(n, [&job](int) { drain(job); });
}

}  // namespace lathe
