// A clock that is cheap to read: the processor's counter where it runs evenly, else the system's steady
// clock.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <x86intrin.h>
#endif

namespace lathe {

class TickClock {
 public:
  /// The first call takes half a millisecond: it compares the counter with the steady clock. Thread-safe.
  static const TickClock& get();

  uint64_t now() const {
#if defined(__x86_64__) || defined(_M_X64)
    if (counter_) return __rdtsc();
#endif
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  double seconds(uint64_t ticks) const { return static_cast<double>(ticks) * period_; }
  /// Ticks from one reading to a later one; never negative, even if the counters of two processors differ.
  static uint64_t between(uint64_t start, uint64_t end) { return end > start ? end - start : 0; }

 private:
  TickClock();
  bool counter_ = false;
  double period_ = 0;  // seconds a tick
};

}  // namespace lathe
