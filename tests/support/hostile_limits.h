// Limits hostile models while a test runs: 1 GiB beyond what the program has, and ten seconds of processor
// time. Include once in a test's source; the system ends a test that takes more.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace lathe::testing {

#if defined(__SANITIZE_ADDRESS__)
#define LATHE_HOSTILE_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define LATHE_HOSTILE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LATHE_HOSTILE_SANITIZED 1
#endif
#endif

class HostileLimits : public ::testing::EmptyTestEventListener {
 public:
  static bool install() {
    ::mallopt(M_ARENA_MAX, 2);  // each thread's arena would claim addresses that nobody uses
    ::testing::UnitTest::GetInstance()->listeners().Append(new HostileLimits);
    return true;
  }

  void OnTestStart(const ::testing::TestInfo&) override {
#ifdef LATHE_HOSTILE_SANITIZED
    run_for(100);  // shadow memory takes all addresses: only memory that is used could be limited, and time
                   // is longer
#else
    run_for(10);
    limit_addresses(taken() + (rlim_t{1} << 30));
#endif
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    run_for(0);
#ifndef LATHE_HOSTILE_SANITIZED
    limit_addresses(RLIM_INFINITY);
#endif
  }

 private:
  /// Seconds of processor time, then the program is ended; 0: as long as it likes.
  static void run_for(time_t seconds) {
    itimerval t{};
    t.it_value.tv_sec = seconds;
    ::setitimer(ITIMER_PROF, &t, nullptr);
  }
  static rlim_t taken() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  }
  static void limit_addresses(rlim_t bytes) {
    rlimit r{};
    ::getrlimit(RLIMIT_AS, &r);
    r.rlim_cur = std::min(bytes, r.rlim_max);
    ::setrlimit(RLIMIT_AS, &r);
  }
};
[[maybe_unused]] static const bool hostile_limits = HostileLimits::install();

}  // namespace lathe::testing

#if defined(__SANITIZE_ADDRESS__)
/// The limit is for used memory, shadow and quarantine included.
extern "C" const char* __asan_default_options() { return "hard_rss_limit_mb=1536:quarantine_size_mb=64"; }
#endif
