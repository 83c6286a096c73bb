#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cfenv>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/cpu.h"
#include "base/shares.h"
#include "runtime/float_state.h"
#include "runtime/worker_processors.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace std::chrono_literals;

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 7, 1000, 100'003}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
      pool.run(n, 3, false, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (auto& h : hits) ASSERT_EQ(h, 1);
    }
  }
}

TEST(ThreadPool, PiecesFollowFromLengthAndGrainOnly) {
  const auto pieces = [](int threads) {
    ThreadPool pool(threads);
    std::mutex m;
    std::set<std::pair<int64_t, int64_t>> seen;
    pool.run(10'001, 64, false, [&](int64_t b, int64_t e) {
      std::lock_guard lock(m);
      seen.insert({b, e});
    });
    return seen;
  };
  EXPECT_EQ(pieces(1), pieces(3));
  EXPECT_GT(pieces(1).size(), 1u);
}

TEST(ThreadPool, UsesItsWorkers) {
  ThreadPool pool(2);
  std::mutex m;
  std::set<std::thread::id> ids;
  pool.run(16, 1, false, [&](int64_t, int64_t) {
    std::this_thread::sleep_for(2ms);
    std::lock_guard lock(m);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST(ThreadPool, PassesOnTheFirstExceptionAndGoesOn) {
  ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.run(100, 1, false,
                          [](int64_t b, int64_t) {
                            if (b == 13) throw Error(Code::run_bad_value, "run", "luck", "thirteen");
                          }),
                 Error);
    std::atomic<int64_t> sum{0};
    pool.run(100, 1, false, [&](int64_t b, int64_t) { sum += b; });
    EXPECT_EQ(sum, 4950);
  }
}

TEST(ThreadPool, NestedLoopsRunOnTheSameThread) {
  ThreadPool pool(2);
  std::atomic<int> total{0}, elsewhere{0};
  pool.run(8, 1, false, [&](int64_t, int64_t) {
    const auto me = std::this_thread::get_id();
    pool.run(8, 1, false, [&](int64_t, int64_t) {
      ++total;
      if (std::this_thread::get_id() != me) ++elsewhere;
    });
  });
  EXPECT_EQ(total, 64);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        std::atomic<int64_t> sum{0};
        pool.run(64, 1, false, [&](int64_t b, int64_t) { sum += b; });
        if (sum != 2016) ++wrong;
      }
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AStepBeginsWhenAllOfTheOneBeforeIsDone) {
  constexpr int64_t steps = 3000, n = 37;
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int64_t>> reached(static_cast<size_t>(n));
    std::atomic<int64_t> wrong{0};
    pool.run_steps(steps, n, 3, false, [&](int64_t step, int64_t begin, int64_t end) {
      for (const auto& r : reached)  // of others, what this step has done already, too
        if (r != step && r != step + 1) ++wrong;
      for (int64_t i = begin; i < end; ++i)
        if (reached[static_cast<size_t>(i)]++ != step) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
    for (const auto& r : reached) EXPECT_EQ(r, steps);
    pool.run_steps(0, n, 3, false, [&](int64_t, int64_t, int64_t) { ++wrong; });
    pool.run_steps(steps, 0, 3, false, [&](int64_t, int64_t, int64_t) { ++wrong; });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ThreadPool, StepsWaitForSlowPieces) {
  ThreadPool pool(3);
  std::atomic<int64_t> done{0}, wrong{0};
  pool.run_steps(6, 3, 1, false, [&](int64_t step, int64_t begin, int64_t) {
    if (done < 3 * step) ++wrong;
    if (begin == step % 3) std::this_thread::sleep_for(3ms);  // longer than others look: they sleep
    ++done;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, 18);
}

TEST(ThreadPool, AFailedStepIsTheLast) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int64_t> latest{0};
    EXPECT_THROW(pool.run_steps(1000, 12, 1, false,
                                [&](int64_t step, int64_t begin, int64_t) {
                                  latest = std::max(latest.load(), step);
                                  if (step == 20 && begin == 7)
                                    throw Error(Code::run_bad_value, "run", "luck", "seven");
                                }),
                 Error);
    EXPECT_EQ(latest, 20);
  }
}

TEST(Shares, GiveEachPieceOnceAndEachThreadItsOwnFirst) {
  for (int64_t n : {0, 1, 7, 100})
    for (int64_t threads : {1, 2, 3, 16, 64}) {
      Shares shares(n, threads);
      std::vector<int> given(static_cast<size_t>(n));
      Shares::Walk second(shares, 1);
      std::vector<int64_t> of_second;
      for (int64_t i; (i = second.next()) >= 0;) {
        of_second.push_back(i);
        ++given[static_cast<size_t>(i)];
      }
      EXPECT_EQ(Shares::Walk(shares, 0).next(), -1) << "a thread that is alone does everything";
      EXPECT_TRUE(std::ranges::all_of(given, [](int times) { return times == 1; }));
      if (n == 100 && threads == 2) {
        EXPECT_EQ(of_second.front(), 50);
      }
    }
}

TEST(Shares, AreEmptiedByManyThreadsAtOnce) {
  constexpr int64_t pieces = 10'000;
  Shares shares(pieces, 4);
  std::vector<std::atomic<int>> given(pieces);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Shares::Walk walk(shares, t);
      for (int64_t i; (i = walk.next()) >= 0;) ++given[static_cast<size_t>(i)];
    });
  for (auto& t : threads) t.join();
  for (auto& times : given) ASSERT_EQ(times, 1);
}

class CountingExecutor final : public Executor {
 public:
  int concurrency() const override { return 3; }
  void run(int n, const std::function<void(int)>& task) override {
    ++calls;
    for (int i = n; i-- > 0;) task(i);
  }
  int calls = 0;
};

TEST(ThreadPool, LetsAForeignExecutorWork) {
  auto foreign = std::make_shared<CountingExecutor>();
  ThreadPool pool(8, foreign);
  EXPECT_EQ(pool.threads(), 3);
  int64_t sum = 0;
  pool.run(100, 1, false, [&](int64_t b, int64_t) { sum += b; });
  EXPECT_EQ(sum, 4950);
  EXPECT_EQ(foreign->calls, 1);
  EXPECT_THROW(pool.run(10, 1, false, [](int64_t, int64_t) { throw Error(Code::internal, "run", "a", "b"); }),
               Error);
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

TEST(ThreadPool, IsQuietBetweenCalls) {
  ThreadPool pool(4);
  const double before = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < 12; ++call) {
    std::atomic<int64_t> sum{0};
    pool.run(64, 1, false, [&](int64_t b, int64_t) { sum += b; });
    std::this_thread::sleep_until(start + (call + 1) * 167ms);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT((cpu_seconds() - before) / wall, 0.01);
}

#if defined(__linux__)
/// Counts how often the threads of this process, except this one, have gone to sleep.
int64_t times_others_slept() {
  int64_t times = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(syscall(SYS_gettid))) continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (int64_t n = 0; word == "voluntary_ctxt_switches:" && status >> n) times += n;
  }
  return times;
}

TEST(ThreadPool, SleepersAreLeftAloneWithWhatIsDoneBeforeTheyWouldBeThere) {
  ThreadPool pool(2);
  // One piece for each thread, as of kernels that hand out tasks of their own, and poll in between: the first
  // lasts until the other one has begun, or so long. Has it?
  const auto call_after_pause = [&](std::chrono::milliseconds most) {
    std::this_thread::sleep_for(2ms);
    std::atomic<int> begun{0};
    bool together = false;
    pool.run(2, 1, false, [&](int64_t, int64_t) {
      if (begun.fetch_add(1) > 0) return;
      const auto end = std::chrono::steady_clock::now() + most;
      while (!together && std::chrono::steady_clock::now() < end) {
        ThreadPool::wake_if_late();
        together = begun.load() > 1;
      }
    });
    return together;
  };
  constexpr int calls = 60;
  for (int i = 0; i < 5; ++i) call_after_pause(0ms);
  // If this thread is interrupted meanwhile, on a busy machine, the others are woken.
  const int64_t before = times_others_slept();
  for (int i = 0; i < calls; ++i) call_after_pause(0ms);
  EXPECT_LT(times_others_slept() - before, calls / 2);
  // They are not forgotten either, whatever happened before.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(call_after_pause(10'000ms));
}

/// One thread acts as a worker, and this one as its caller.
class WorkerPlacesTest : public ::testing::Test {
 protected:
  using Processors = std::vector<int>;

  void SetUp() override {
    mine_ = of(0);
    if (mine_.size() < 2) GTEST_SKIP() << "needs two processors";
    worker_ = std::thread([this] {
      thread_ = static_cast<pid_t>(syscall(SYS_gettid));
      for (int seen = 0; seen != stop;) {
        turn_.wait(seen);
        if ((seen = turn_) != stop) places_.woken(0);
        answered_ = seen;
        answered_.notify_all();
      }
    });
    while (thread_ == 0) std::this_thread::yield();
  }
  void TearDown() override {
    if (!worker_.joinable()) return;
    place(0, mine_);
    place(thread_, mine_);
    turn_ = stop;
    turn_.notify_all();
    worker_.join();
  }
  static Processors of(pid_t thread) {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(thread, sizeof set, &set), 0);
    Processors all;
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) all.push_back(i);
    return all;
  }
  static void place(pid_t thread, const Processors& where) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i : where) CPU_SET(i, &set);
    EXPECT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
  }
  /// Returns the processors of the worker after its caller, on `processor`, has woken it.
  Processors woken_from(int processor) {
    place(0, {processor});
    places_.wake_elsewhere();
    const int turn = ++turn_;
    turn_.notify_all();
    for (int seen; (seen = answered_) != turn;) answered_.wait(seen);
    return of(thread_);
  }

  static constexpr int stop = -1;
  WorkerProcessors places_{1};
  Processors mine_;
  pid_t worker() const { return thread_; }

 private:
  std::atomic<int> turn_{0}, answered_{0};
  std::atomic<pid_t> thread_{0};
  std::thread worker_;
};

TEST_F(WorkerPlacesTest, WhoWakesUpBesideTheCallerIsKeptOffFromThenOn) {
  const int a = mine_[0], b = mine_[1];
  place(worker(), {b});
  EXPECT_EQ(woken_from(a), Processors{b});
  place(worker(), {a, b});  // never beside its caller so far: left alone
  place(0, {b});
  places_.wake_elsewhere();
  EXPECT_EQ(of(worker()), (Processors{a, b}));
  place(worker(), {a});
  EXPECT_EQ(woken_from(a), Processors{a});  // beside it, with nowhere else to go
  place(worker(), {a, b});
  EXPECT_EQ(woken_from(b), Processors{a});
  EXPECT_EQ(woken_from(a), Processors{b});
}

TEST_F(WorkerPlacesTest, WhatOthersWishHolds) {
  const int a = mine_[0], b = mine_[1];
  place(worker(), {a});
  EXPECT_EQ(woken_from(a), Processors{a});
  EXPECT_EQ(woken_from(b), Processors{a});
  place(worker(), {b});
  EXPECT_EQ(woken_from(a), Processors{b});
  EXPECT_EQ(woken_from(b), Processors{b});
  place(worker(), {a, b});
  EXPECT_EQ(woken_from(a), Processors{b});
}
#endif

#if defined(__x86_64__)
TEST(FloatState, IsTheSameOnAllThreadsAndRestored) {
  ThreadPool pool(2);
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~0x3fu) | 0x8040u);  // the caller flushes denormals, the run must not
  std::atomic<int> flushed{0}, kept{0};
  volatile float tiny = 1e-39f;
  const auto probe = [&](int64_t, int64_t) {
    std::this_thread::sleep_for(1ms);
    const float half = tiny * 0.5f;
    ++(half == 0.0f ? flushed : kept);
  };
  pool.run(16, 1, false, probe);
  EXPECT_EQ(flushed, 0);
  pool.run(16, 1, true, probe);
  EXPECT_EQ(flushed, 16);
  EXPECT_EQ(kept, 16);
  EXPECT_EQ(_mm_getcsr() & 0x8040u, 0x8040u);
  _mm_setcsr(before);
}
#endif

class FakeCgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    root = std::filesystem::path(::testing::TempDir()) / ("cgroup" + std::to_string(getpid()));
    std::filesystem::create_directories(root / "a" / "b");
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::filesystem::path& at, std::string_view text) {
    std::filesystem::create_directories((root / at).parent_path());
    std::ofstream(root / at) << text;
  }
  std::filesystem::path root;
};

TEST_F(FakeCgroup, QuotaOfTheSecondVersionLimitsThreads) {
  write("self", "0::/a/b\n");
  write("a/cpu.max", "100000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  const CpuLimits l = cpu_limits(root, root / "self");
  EXPECT_DOUBLE_EQ(l.quota, 1.0);  // the narrowest of all levels counts
  EXPECT_EQ(l.threads, 1);
  EXPECT_NE(l.reason, "");
}

TEST_F(FakeCgroup, QuotaOfTheFirstVersionLimitsThreads) {
  write("self", "4:cpu,cpuacct:/a\n");
  write("cpu/a/cpu.cfs_quota_us", "50000\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  const CpuLimits l = cpu_limits(root, root / "self");
  EXPECT_DOUBLE_EQ(l.quota, 0.5);
  EXPECT_EQ(l.threads, 1);
}

TEST_F(FakeCgroup, WithoutQuotaTheAffinityDecides) {
  write("self", "0::/a\n");
  write("a/cpu.max", "max 100000\n");
  const CpuLimits l = cpu_limits(root, root / "self");
  EXPECT_EQ(l.quota, 0);
  EXPECT_EQ(l.threads, l.affinity);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
