// Work that needs scratch memory of its own for every thread.
#pragma once

#include <algorithm>

#include "base/shares.h"
#include "kernel/kernel.h"

namespace lathe::cpu {

/// How many tasks for_each_task() runs at once: as many slots of scratch there must be.
inline int64_t task_slots(int64_t tasks, int threads) {
  return std::min<int64_t>(tasks, std::max(threads, 1));
}

/// Floats from one slot of scratch, that needs so many, to the next: whole lines. Where there are several
/// threads it is nearly always the same: what lies at the beginning of the scratch of one kernel after the
/// other is then written by the same thread, and need not be fetched from another's cache first. (Threads
/// with different third-level caches wait 2 to 8 ns for each line.)
inline int64_t slot_stride(int64_t floats, int threads) {
  constexpr int64_t line = 16, usual = int64_t{1} << 18;
  const int64_t unit = threads > 1 ? usual : line;
  return (floats + unit - 1) / unit * unit;
}

/// Calls f(task, slot) for every task in [0, n). A slot is in [0, task_slots(n, c.threads())) and in use by
/// one task at a time. Tasks are handed out as threads become free; polls before each.
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
