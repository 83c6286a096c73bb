#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cfenv>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/cpu.h"
#include "runtime/float_state.h"

namespace lathe {
namespace {

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

class FakeCgroup : public testing::Test {
 protected:
  void SetUp() override {
    root = std::filesystem::path(testing::TempDir()) / ("cgroup" + std::to_string(getpid()));
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

}  // namespace
}  // namespace lathe
