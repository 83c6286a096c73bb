// Counts the bytes that the heap of this process holds, and the most that it has held, to compare them with
// the memory that engines report. Large blocks count with their requested size: the rest of an aligned block
// is address space that nothing touches. Small blocks include the overhead of the C library. Include in one
// source of a test. Sanitizers have a heap of their own, so nothing is counted there: see `counts_heap`.
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

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && defined(__GLIBC__)
extern "C" {
// The C library's own functions, by the names that it has for programs that replace them.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

// The C++ library calls them too, so clang must not hide them.
#define LATHE_EXPORTED [[gnu::visibility("default")]]
LATHE_EXPORTED void* malloc(size_t n) noexcept { return lathe::test::taken(__libc_malloc(n), n); }
LATHE_EXPORTED void* calloc(size_t n, size_t size) noexcept {
  return lathe::test::taken(__libc_calloc(n, size), n * size);
}
LATHE_EXPORTED void* realloc(void* p, size_t n) noexcept {
  void* q = malloc(n);
  if (!q) return nullptr;
  if (p) std::memcpy(q, p, std::min(n, ::malloc_usable_size(p)));
  free(p);
  return q;
}
LATHE_EXPORTED void* memalign(size_t alignment, size_t n) noexcept {
  return lathe::test::taken(__libc_memalign(alignment, n), n);
}
LATHE_EXPORTED void* aligned_alloc(size_t alignment, size_t n) noexcept { return memalign(alignment, n); }
LATHE_EXPORTED int posix_memalign(void** p, size_t alignment, size_t n) noexcept {
  void* q = memalign(alignment, n);
  if (!q) return ENOMEM;
  *p = q;
  return 0;
}
LATHE_EXPORTED void free(void* p) noexcept {
  lathe::test::given(p);
  __libc_free(p);
}
#undef LATHE_EXPORTED
}
#endif
