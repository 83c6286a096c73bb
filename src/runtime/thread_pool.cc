#include "runtime/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>

#include "base/shares.h"
#include "runtime/float_state.h"

namespace lathe {
namespace {

constexpr auto spin_time = std::chrono::microseconds(30);
/// Callers do jobs alone that take no longer than this: waking a sleeping thread takes the caller 5 us, and
/// 50 pass until the thread runs (KVM, AMD EPYC).
constexpr auto patience = std::chrono::microseconds(30);
constexpr int64_t max_pieces = 256;
/// The most steps of one job: their pieces are counted in 32 bits, since a futex has no more.
constexpr int64_t max_steps = std::numeric_limits<int32_t>::max() / max_pieces;

/// Set while a thread works on a piece: loops inside it do not go parallel again.
thread_local bool inside_piece = false;
/// The pool whose workers sleep while this thread does a job of theirs.
thread_local ThreadPool* sleeping_pool = nullptr;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits for a short time, and returns whether `a` is no longer `old`.
bool changes_soon(const std::atomic<uint32_t>& a, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (a.load(std::memory_order_acquire) != old) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Waits until `a` is no longer `old`: briefly awake, then asleep.
void wait_for_change(const std::atomic<uint32_t>& a, uint32_t old) {
  if (!changes_soon(a, old)) a.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Job {
  Job(StepLoop loop, int64_t count, int64_t length, int64_t of_piece, bool flush, int threads)
      : f(loop),
        steps(count),
        n(length),
        piece(of_piece),
        flush_denormals(flush),
        shares(pieces(), threads) {}
  StepLoop f;
  int64_t steps, n, piece;
  bool flush_denormals;
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
  Shares shares;
  std::atomic<uint32_t> done{0};  // pieces of all steps, where there is more than one

  int64_t pieces() const { return n / piece + (n % piece != 0); }
  uint32_t pieces_before(int64_t step) const { return static_cast<uint32_t>(step * pieces()); }

  /// Returns once all before this step is done; false where it never will be.
  bool reach(int64_t step) {
    for (uint32_t now; (now = done.load(std::memory_order_acquire)) < pieces_before(step);) {
      if (failed.load(std::memory_order_relaxed)) return false;
      wait_for_change(done, now);
    }
    return !failed.load(std::memory_order_relaxed);
  }
  /// Notes that `some` pieces of a step are done, and wakes threads that wait for the whole step.
  void count(int64_t step, uint32_t some) {
    if (steps == 1 || some == 0) return;
    if (done.fetch_add(some, std::memory_order_acq_rel) + some >= pieces_before(step + 1)) done.notify_all();
  }
  void fail(std::exception_ptr e) {
    if (failed.exchange(true)) return;
    error = std::move(e);
    done.fetch_add(1, std::memory_order_acq_rel);
    done.notify_all();
  }
};

ThreadPool::ThreadPool(int threads, std::shared_ptr<Executor> executor)
    : threads_(std::max(1, executor ? executor->concurrency() : threads)),
      executor_(std::move(executor)),
      processors_(threads_ - 1) {
  if (executor_) return;
  try {
    for (int i = 1; i < threads_; ++i) workers_.emplace_back([this, i] { work(i); });
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
  return std::max({grain, int64_t{1}, n / max_pieces + (n % max_pieces != 0)});
}

void ThreadPool::run(int64_t n, int64_t grain, bool flush_denormals, Loop f) {
  run_steps(1, n, grain, flush_denormals, [&](int64_t, int64_t begin, int64_t end) { f(begin, end); });
}

void ThreadPool::run_steps(int64_t steps, int64_t n, int64_t grain, bool flush_denormals, StepLoop f) {
  if (n <= 0 || steps <= 0) return;
  const int64_t piece = piece_length(n, grain);
  const bool alone = threads_ == 1 || inside_piece || piece >= n;
  if (alone || (!executor_ && busy_.exchange(true, std::memory_order_acquire))) {
    const FloatState state(flush_denormals);
    return run_alone(steps, n, grain, f);
  }
  const int64_t some = std::min(steps, max_steps);
  Job job(f, some, n, piece, flush_denormals, threads_);
  if (executor_) {
    run_on_executor(job);
  } else {
    run_on_workers(job);
    busy_.store(false, std::memory_order_release);
  }
  if (job.error) std::rethrow_exception(job.error);
  if (some < steps)
    run_steps(steps - some, n, grain, flush_denormals,
              [&](int64_t step, int64_t begin, int64_t end) { f(some + step, begin, end); });
}

void ThreadPool::run_alone(int64_t steps, int64_t n, int64_t grain, StepLoop f) {
  const int64_t piece = piece_length(n, grain);
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t begin = 0; begin < n; begin += piece) f(step, begin, std::min(n, begin + piece));
}

void ThreadPool::drain(Job& job, int64_t thread) {
  const FloatState state(job.flush_denormals);
  const bool outer = std::exchange(inside_piece, true);
  for (int64_t step = 0; step < job.steps && job.reach(step); ++step) {
    Shares::Walk walk(job.shares, thread, step);
    uint32_t some = 0;
    for (int64_t i; !job.failed.load(std::memory_order_relaxed) && (i = walk.next()) >= 0; ++some) {
      wake_if_late();
      try {
        job.f(step, i * job.piece, std::min(job.n, (i + 1) * job.piece));
      } catch (...) {
        job.fail(std::current_exception());
      }
    }
    job.count(step, some);
  }
  inside_piece = outer;
}

// A worker counts itself active before it looks for a job, and the caller closes the job before it waits for
// the active ones to leave: so either the worker finds nothing, or the caller waits for it. The job lives on
// the caller's stack.
void ThreadPool::run_on_workers(Job& job) {
  if (asleep_.load(std::memory_order_relaxed) == static_cast<int>(workers_.size())) {
    run_while_they_sleep(job);
  } else {
    wake_for(job);
    drain(job, 0);
  }
  if (!job_.load(std::memory_order_relaxed)) return;
  job_.store(nullptr);
  for (uint32_t active = active_.load(); active != 0; active = active_.load())
    wait_for_change(active_, active);
}

void ThreadPool::run_while_they_sleep(Job& job) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_asleep_ > spin_time) {
    // If workers came in time for an earlier job, waking them was worthwhile and is done at once again.
    const bool worth = helped_.exchange(false, std::memory_order_relaxed);
    wake_at_ = worth ? now : now + patience;
  }
  waiting_ = &job;
  ThreadPool* const outer = std::exchange(sleeping_pool, this);
  drain(job, 0);
  sleeping_pool = outer;
  waiting_ = nullptr;
  last_asleep_ = std::chrono::steady_clock::now();
}

void ThreadPool::wake_if_late() {
  ThreadPool* const p = sleeping_pool;
  if (p && p->waiting_ && std::chrono::steady_clock::now() >= p->wake_at_)
    p->wake_for(*std::exchange(p->waiting_, nullptr));
}

void ThreadPool::wake_for(Job& job) {
  processors_.wake_elsewhere();
  job_.store(&job);
  epoch_.fetch_add(1);
  epoch_.notify_all();
}

void ThreadPool::work(int64_t thread) {
  uint32_t seen = 0;
  for (;;) {
    if (!changes_soon(epoch_, seen)) {
      asleep_.fetch_add(1, std::memory_order_relaxed);
      epoch_.wait(seen, std::memory_order_acquire);
      asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
    processors_.woken(static_cast<int>(thread) - 1);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    active_.fetch_add(1);
    if (Job* job = job_.load()) {
      if (!helped_.load(std::memory_order_relaxed)) helped_.store(true, std::memory_order_relaxed);
      drain(*job, thread);
    }
    if (active_.fetch_sub(1) == 1) active_.notify_all();
  }
}

void ThreadPool::run_on_executor(Job& job) {
  const int n = static_cast<int>(std::min<int64_t>(threads_, job.pieces()));
  executor_->run(n, [&job](int i) { drain(job, i); });
}

}  // namespace lathe
