// Measures threads between calls: processor time used while nobody calls, and the cost of waking up.
//
//   lathe_bench_idle MODEL.onnx [THREADS [CALLS_A_SECOND [SECONDS]]]
//
// Calls at a steady rate, in alternation with the library's own threads and with an executor whose threads
// never sleep. Processor time between calls is what the other threads used from the end of one call to the
// begin of the next, by the clock of each thread: that of the process is late for other processors.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "lathe/lathe.h"

namespace {

using Clock = std::chrono::steady_clock;

double clock_of(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Processor time of all threads but this one, a clock for each (clock_getcpuclockid of threads, as Linux
/// makes them).
class OtherThreads {
 public:
  OtherThreads() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const auto id = static_cast<pid_t>(std::stol(task.path().filename().string()));
      if (id != getpid()) clocks_.push_back(static_cast<clockid_t>(~static_cast<unsigned>(id) << 3 | 6));
    }
  }
  double time() const {
    double sum = 0;
    for (clockid_t id : clocks_) sum += clock_of(id);
    return sum;
  }

 private:
  std::vector<clockid_t> clocks_;
};

/// Threads that look for work all the time, as long as they are not told to rest.
class Spinning final : public lathe::Executor {
 public:
  explicit Spinning(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Spinning() override {
    stop_ = true;
    awake(true);
    for (std::thread& t : workers_) t.join();
  }
  int concurrency() const override { return static_cast<int>(workers_.size()) + 1; }
  void run(int n, const std::function<void(int)>& task) override {
    task_ = &task;
    const int others = std::min(n - 1, static_cast<int>(workers_.size()));
    left_ = others;
    wanted_ += static_cast<uint64_t>(others);
    task(0);
    while (left_.load() > 0) {
    }
  }
  void awake(bool yes) {
    awake_ = yes;
    awake_.notify_all();
  }

 private:
  void work() {
    for (;;) {
      if (stop_) return;
      uint64_t taken = taken_.load();
      if (taken < wanted_.load()) {
        if (!taken_.compare_exchange_strong(taken, taken + 1)) continue;
        (*task_.load())(1);
        --left_;
      } else if (!awake_.load()) {
        awake_.wait(false);
      }
    }
  }
  std::vector<std::thread> workers_;
  std::atomic<const std::function<void(int)>*> task_{nullptr};
  std::atomic<uint64_t> wanted_{0}, taken_{0};
  std::atomic<int> left_{0};
  std::atomic<bool> awake_{false}, stop_{false};
};

struct Side {
  Side(const char* model, const lathe::BuildOptions& o) : engine(lathe::Engine::build(model, o)) {
    for (const lathe::IoInfo& io : engine.inputs()) {
      lathe::Shape shape;
      for (const lathe::Dim& d : *io.shape) shape.push_back(d.value().value_or(1));
      context.bind_input(io.name, lathe::random_tensor(io.element_type, shape, 0));
    }
    for (int i = 0; i < 5; ++i) context.run();
  }
  void calls(double rate, double seconds) {
    const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
    auto next = Clock::now() + period;
    const OtherThreads others;
    for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); Clock::now() < end;
         next += period) {
      const double used = others.time();
      const auto before = Clock::now();
      std::this_thread::sleep_until(next);
      between += others.time() - used;
      waited += std::chrono::duration<double>(Clock::now() - before).count();
      const auto start = Clock::now();
      context.run();
      times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  double percentile(double p) {
    std::sort(times.begin(), times.end());
    return times[static_cast<size_t>(p * static_cast<double>(times.size() - 1))];
  }
  lathe::Engine engine;
  lathe::Context context = engine.create_context();
  std::vector<double> times;
  double between = 0, waited = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: lathe_bench_idle MODEL.onnx [THREADS [CALLS_A_SECOND [SECONDS]]]\n"),
           2;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const double rate = argc > 3 ? std::atof(argv[3]) : 100, seconds = argc > 4 ? std::atof(argv[4]) : 10;
  const auto spinning = std::make_shared<Spinning>(threads);
  Side quiet(argv[1], {.threads = threads});
  spinning->awake(true);
  Side awake(argv[1], {.threads = threads, .executor = spinning});
  constexpr int rounds = 5;
  for (int i = 0; i < rounds; ++i) {
    spinning->awake(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    quiet.calls(rate, seconds / 2 / rounds);
    spinning->awake(true);
    awake.calls(rate, seconds / 2 / rounds);
  }
  std::printf(
      "%s, %d threads, %.0f calls a second: p50 %.4f ms, p90 %.4f; spinning %.4f, %.4f; ratio of p50 %.3f; "
      "%.2f %% of a processor between calls\n",
      argv[1], threads, rate, 1e3 * quiet.percentile(0.5), 1e3 * quiet.percentile(0.9),
      1e3 * awake.percentile(0.5), 1e3 * awake.percentile(0.9), quiet.percentile(0.5) / awake.percentile(0.5),
      100 * quiet.between / quiet.waited);
}
