// Counts the bytes that the heap of this process holds, and the most that it has held, to compare them with
// the memory that engines report. Large blocks count with their requested size: the rest of an aligned block
// is address space that nothing touches. Small blocks include the overhead of the C library. Sanitizers have
// a heap of their own, so nothing is counted there: see `counts_heap`. One source of a test includes
// support/heap.h, which does the counting.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace lathe::test {
inline std::atomic<size_t> heap_live{0}, heap_peak{0};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
inline constexpr bool counts_heap = false;
#else
inline constexpr bool counts_heap = true;
#endif
inline constexpr size_t large_block = 64 << 10;
struct LargeBlock {
  std::atomic<void*> at{nullptr};
  size_t bytes = 0;
};
inline LargeBlock large_blocks[4096];
inline LargeBlock& place_of(void* p) {
  for (LargeBlock& b : large_blocks)
    if (void* nobody = nullptr; b.at == nullptr && b.at.compare_exchange_strong(nobody, p)) return b;
  std::abort();  // more large blocks than a test has
}
inline void* taken(void* p, size_t asked) noexcept {
  if (!p) return p;
  size_t bytes = ::malloc_usable_size(p);
  if (bytes >= large_block) place_of(p).bytes = bytes = asked;
  const size_t now = heap_live.fetch_add(bytes) + bytes;
  for (size_t most = heap_peak; now > most && !heap_peak.compare_exchange_weak(most, now);) continue;
  return p;
}
inline void given(void* p) noexcept {
  if (!p) return;
  size_t bytes = ::malloc_usable_size(p);
  if (bytes >= large_block) {
    // Nobody else can get this address before the entry is cleared.
    for (LargeBlock& b : large_blocks)
      if (b.at == p) {
        bytes = b.bytes;
        b.at = nullptr;
        break;
      }
  }
  heap_live.fetch_sub(bytes);
}
/// Restarts the count of the most bytes.
inline void reset_heap_peak() { heap_peak.store(heap_live); }
}  // namespace lathe::test
