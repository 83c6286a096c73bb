// Measures the speed of the processor at this moment. Reads words, and answers each with a line.
// A number of threads: the GFLOP/s of multiplications and additions in registers on that many together. Two
// threads near twice the rate of one have a core each; near the rate of one they share a core.
// "lines": the nanoseconds that a thread takes for a cache line which another one has just written, of many
// in a row. If both have the same third-level cache, it is half of what it is otherwise, or less.
//
//   echo 1 2 lines | lathe_fma_probe
//
// It needs only headers, so that the comparison with peers can compile it where nothing else is built:
//   c++ -std=c++20 -O2 -Iinclude -Isrc bench/fma_probe.cc -pthread -o lathe_fma_probe
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "cpu/simd/probe.h"

#define LATHE_ISA_BODY "cpu/simd/probe_body.h"
#include "cpu/simd/for_each_isa.h"

namespace {

using Clock = std::chrono::steady_clock;
using lathe::cpu::Probe;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

const Probe& best_probe() {
#if defined(__x86_64__) || defined(_M_X64)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return lathe::cpu::avx512::table;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return lathe::cpu::avx2::table;
#endif
  return lathe::cpu::generic::table;
}

/// How many rounds take about two milliseconds on one thread: long beside a thread's start, short beside a
/// time slice.
int64_t calibrated_rounds(const Probe& probe) {
  alignas(64) float out[16];
  int64_t rounds = 1000;
  for (;;) {
    const auto start = Clock::now();
    probe.arithmetic(rounds, out);
    if (const double t = seconds(Clock::now() - start); t > 0.002) return rounds;
    rounds *= 2;
  }
}

/// Arithmetic of all threads over the time until the last is done.
double rate(const Probe& probe, int64_t rounds, int threads) {
  std::atomic<int> waiting = threads;
  std::vector<double> flops(static_cast<size_t>(threads));
  std::vector<Clock::time_point> begin(flops.size()), end(flops.size());
  std::vector<std::thread> crew;
  for (size_t i = 0; i < flops.size(); ++i)
    crew.emplace_back([&, i] {
      alignas(64) float out[16];
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      begin[i] = Clock::now();
      flops[i] = probe.arithmetic(rounds, out);
      end[i] = Clock::now();
    });
  for (std::thread& t : crew) t.join();
  double sum = 0;
  for (double f : flops) sum += f;
  return sum /
         seconds(*std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end()));
}

/// Nanoseconds a line: two threads write a quarter of a megabyte each, and then each reads the other's.
double handover(const Probe& probe) {
  constexpr int64_t floats = 64 << 10;
  constexpr int rounds = 15;
  std::vector<float> buffers[2] = {std::vector<float>(floats), std::vector<float>(floats)};
  std::atomic<int> arrived = 0;
  const auto meet = [&](int times) {
    arrived.fetch_add(1);
    while (arrived.load() < 2 * times) continue;
  };
  std::vector<double> taken;
  float sum[2] = {};
  const auto work = [&](size_t me) {
    for (int i = 0; i < rounds; ++i) {
      std::fill(buffers[me].begin(), buffers[me].end(), static_cast<float>(i));
      meet(2 * i + 1);
      const auto start = Clock::now();
      sum[me] += probe.read(buffers[1 - me].data(), floats);
      if (me == 0) taken.push_back(seconds(Clock::now() - start));
      meet(2 * i + 2);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  // A third of the rounds at most is disturbed.
  std::nth_element(taken.begin(), taken.begin() + rounds / 3, taken.end());
  return sum[0] == sum[1] ? taken[rounds / 3] * 1e9 / (floats / 16) : 0;
}

}  // namespace

int main() {
  const Probe& probe = best_probe();
  const int64_t rounds = calibrated_rounds(probe);
  for (std::string word; std::cin >> word;) {
    if (word == "lines") {
      std::printf("%.2f\n", handover(probe));
    } else {
      const int threads = std::atoi(word.c_str());
      if (threads < 1) return 2;
      double best = 0;
      for (int i = 0; i < 3; ++i) best = std::max(best, rate(probe, rounds, threads));
      std::printf("%.1f\n", best * 1e-9);
    }
    std::fflush(stdout);
  }
}
