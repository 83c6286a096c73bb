// Makes the heap of this process count (support/heap_count.h). Include in one source of a test.
#pragma once

#include "support/heap_count.h"

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
