// Measures the roofline: peak arithmetic, and the bandwidth of caches and memory, with all threads at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/pages.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/probe.h"
#include "lathe/error.h"
#include "lathe/profile.h"

#define LATHE_ISA_BODY "cpu/simd/probe_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe {
namespace cpu {
namespace {

LATHE_SELECT_ISA(Probe, probe_of)

const Probe& best_probe() {
  const CpuFeatures& has = cpu_features();
  return probe_of(has.avx512 ? Isa::avx512 : has.avx2 ? Isa::avx2 : Isa::generic);
}

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

/// Runs `work(thread)`, which returns its amount of work, on `threads` threads that begin together. Returns
/// the best rate per second of all of them in several attempts.
template <class Work>
double best_rate(int threads, Work work) {
  double best = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::atomic<int> waiting = threads;
    std::vector<double> done(static_cast<size_t>(threads));
    std::vector<Clock::time_point> begin(done.size()), end(done.size());
    const auto share = [&](size_t i) {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      begin[i] = Clock::now();
      done[i] = work(i);
      end[i] = Clock::now();
    };
    std::vector<std::thread> crew;
    try {
      for (size_t i = 1; i < done.size(); ++i) crew.emplace_back(share, i);
    } catch (const std::system_error&) {  // continues with the threads that started
      waiting.fetch_sub(static_cast<int>(done.size() - crew.size() - 1));
    }
    share(0);
    for (std::thread& t : crew) t.join();
    done.resize(crew.size() + 1);
    begin.resize(done.size());
    end.resize(done.size());
    double sum = 0;
    for (double d : done) sum += d;
    best = std::max(best, sum / seconds(*std::ranges::max_element(end) - *std::ranges::min_element(begin)));
  }
  return best;
}

/// The number of rounds that take about two milliseconds: long beside a thread's start, short beside a time
/// slice.
int64_t calibrated(const auto& work) {
  for (int64_t rounds = 1;; rounds *= 2) {
    const auto start = Clock::now();
    work(rounds);
    if (seconds(Clock::now() - start) > 0.002) return rounds;
  }
}

double peak_arithmetic(int threads) {
  const Probe& probe = best_probe();
  alignas(64) float out[16];
  const int64_t rounds = calibrated([&](int64_t n) { probe.arithmetic(1000 * n, out); });
  return best_rate(threads, [&](size_t) {
    alignas(64) float mine[16];
    return probe.arithmetic(1000 * rounds, mine);
  });
}

/// Receives unused sums, so that they are not optimized away.
std::atomic<float> ignored;

struct Free {
  void operator()(float* p) const { std::free(p); }
};

/// Measures threads that each read `bytes` of their own repeatedly.
double bandwidth(int threads, size_t bytes) {
  const Probe& probe = best_probe();
  const auto n = static_cast<int64_t>(bytes / sizeof(float) / 128 * 128);
  std::vector<std::unique_ptr<float, Free>> arrays;
  for (int i = 0; i < threads; ++i) {
    arrays.emplace_back(static_cast<float*>(allocate_pages(static_cast<size_t>(n) * sizeof(float))));
    if (!arrays.back())
      throw Error(Code::run_out_of_memory, "profile", "memory to measure with", "none left");
    std::fill_n(arrays.back().get(), n, 1.0f);
  }
  const auto pass = [&](size_t i, int64_t times) {
    float sum = 0;
    for (int64_t t = 0; t < times; ++t) sum += probe.read(arrays[i].get(), n);
    ignored.store(sum, std::memory_order_relaxed);
    return static_cast<double>(n) * sizeof(float) * static_cast<double>(times);
  };
  const int64_t times = calibrated([&](int64_t k) { pass(0, k); });
  return best_rate(threads, [&](size_t i) { return pass(i, times); });
}

/// The bytes of the data cache of a level of the first processor, as the system reports; 0 if it does not.
uint64_t cache_size(int level) {
  for (int i = 0; i < 8; ++i) {
    const std::string place = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::ifstream level_file(place + "level"), type_file(place + "type"), size_file(place + "size");
    int of = 0;
    std::string type, unit;
    uint64_t size = 0;
    if (!(level_file >> of) || of != level || !(type_file >> type) || type == "Instruction") continue;
    if (size_file >> size) return size * (size_file >> unit && unit == "M" ? 1u << 20 : 1u << 10);
  }
  return 0;
}

constexpr uint64_t mebi = uint64_t{1} << 20;

}  // namespace
}  // namespace cpu

Roofline measure_roofline(int threads) {
  if (threads < 1 || threads > 1024)
    throw Error(Code::bad_argument, "profile", "1 to 1024 threads", std::to_string(threads));
  using namespace cpu;
  Roofline r;
  r.flops = peak_arithmetic(threads);
  const auto n = static_cast<uint64_t>(threads);
  const uint64_t l2 = cache_size(2), l3 = cache_size(3);
  // Half of a level surely fits it; threads share the last level.
  if (l2) r.levels.push_back({"L2", l2 * n, bandwidth(threads, l2 / 2)});
  if (l3 > 2 * l2 * n) r.levels.push_back({"L3", l3, bandwidth(threads, std::min(l3 / 2, 16 * mebi) / n)});
  const uint64_t beyond = std::clamp(3 * l3, 32 * mebi, 96 * mebi);
  r.levels.push_back({"memory", 0, bandwidth(threads, beyond / n)});
  return r;
}

const Roofline::Level* Roofline::level_for(double bytes) const {
  for (const Level& l : levels)
    if (l.holds == 0 || bytes <= static_cast<double>(l.holds)) return &l;
  return levels.empty() ? nullptr : &levels.back();
}

double Roofline::least_seconds(double work, double bytes) const {
  const Level* level = level_for(bytes);
  const double computing = flops > 0 ? work / flops : 0;
  const double moving = level && level->bandwidth > 0 ? bytes / level->bandwidth : 0;
  return std::max(computing, moving);
}

}  // namespace lathe
