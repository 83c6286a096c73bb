#include "base/ticks.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#endif

namespace lathe {
namespace {

using Steady = std::chrono::steady_clock;

/// Returns whether the counter always runs at one rate, even when the processor sleeps.
bool counter_is_even() {
#if defined(__x86_64__) || defined(_M_X64)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned invariant = 1u << 8;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
#else
  return false;
#endif
}

}  // namespace

const TickClock& TickClock::get() {
  static const TickClock clock;
  return clock;
}

TickClock::TickClock() : counter_(counter_is_even()) {
  using Ratio = Steady::period;
  period_ = static_cast<double>(Ratio::num) / static_cast<double>(Ratio::den);
  if (!counter_) return;
  const auto start = Steady::now();
  const uint64_t first = now();
  auto end = start;
  while (end - start < std::chrono::microseconds(500)) end = Steady::now();
  const uint64_t ticks = between(first, now());
  if (ticks == 0)
    counter_ = false;
  else
    period_ = std::chrono::duration<double>(end - start).count() / static_cast<double>(ticks);
}

}  // namespace lathe
