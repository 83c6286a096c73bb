// Tasks that need scratch memory of their own for every thread.
#pragma once

#include <algorithm>

#include "base/shares.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// The number of tasks that for_each_task() runs at once, and of slots of scratch.
inline int64_t task_slots(int64_t tasks, int threads) {
  return std::min<int64_t>(tasks, std::max(threads, 1));
}

/// The floats from one slot of scratch to the next: whole lines. With several threads it is nearly always the
/// same, so that the beginning of a slot is written by the same thread in one kernel after the other, and
/// need not be fetched from another thread's cache. (Threads with different third-level caches wait 2 to 8 ns
/// for each line.)
inline int64_t slot_stride(int64_t floats, int threads) {
  constexpr int64_t line = 16, usual = int64_t{1} << 18;
  const int64_t unit = threads > 1 ? usual : line;
  return (floats + unit - 1) / unit * unit;
}

/// Calls f(task, slot) for every task in [0, n). A slot is in [0, task_slots(n, c.threads())) and is used by
/// one task at a time. Threads take tasks as they become free, and poll before each.
template <class F>
void for_each_task(KernelContext& c, int64_t n, F&& f) {
  const int64_t slots = task_slots(n, c.threads());
  Shares shares(n, slots);
  auto work = [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      Shares::Walk walk(shares, slot);
      for (int64_t task; (task = walk.next()) >= 0;) {
        c.poll();
        f(task, slot);
      }
    }
  };
  c.parallel(slots, 1, work);
}

}  // namespace lathe::cpu
