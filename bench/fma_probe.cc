// What the processor gives at this moment: reads numbers of threads, a line each, and answers each with the
// GFLOP/s of multiplications and additions in registers on that many threads together. Two threads near twice
// the rate of one have a core each; near the rate of one they share a core.
//
//   echo 1 2 | lathe_fma_probe
//
// Made of headers alone, so that the comparison with peers can compile it where nothing else is built:
//   c++ -std=c++20 -O2 -Isrc -Ibench bench/fma_probe.cc -pthread -o lathe_fma_probe
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <thread>
#include <vector>

#include "cpu/probe.h"

#define LATHE_ISA_BODY "cpu/probe_body.h"
#include "cpu/for_each_isa.h"

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

}  // namespace

int main() {
  const Probe& probe = best_probe();
  const int64_t rounds = calibrated_rounds(probe);
  for (int threads; std::cin >> threads && threads > 0;) {
    double best = 0;
    for (int i = 0; i < 3; ++i) best = std::max(best, rate(probe, rounds, threads));
    std::printf("%.1f\n", best * 1e-9);
    std::fflush(stdout);
  }
}
