// Counts calls of operator new, and of aligned_alloc and posix_memalign (with which the library allocates big
// blocks), to show that something allocates nothing.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace lathe::test {
inline std::atomic<long> allocations{0};
inline std::atomic<long> big_allocations{0};  // of these, by aligned_alloc and posix_memalign
inline void* counted_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  ++allocations;
  return ::memalign(alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes);
}
inline void* counted(std::size_t bytes, std::size_t alignment) {
  if (void* p = counted_or_null(bytes, alignment)) return p;
  throw std::bad_alloc();
}
}  // namespace lathe::test

// Not inlined, because gcc would warn of new paired with free; weak, so that several sources of a program may
// have them.
#define LATHE_COUNTED [[gnu::noinline, gnu::weak]]
LATHE_COUNTED void* operator new(std::size_t n) { return lathe::test::counted(n, alignof(std::max_align_t)); }
LATHE_COUNTED void* operator new[](std::size_t n) {
  return lathe::test::counted(n, alignof(std::max_align_t));
}
LATHE_COUNTED void* operator new(std::size_t n, std::align_val_t a) {
  return lathe::test::counted(n, static_cast<std::size_t>(a));
}
LATHE_COUNTED void* operator new[](std::size_t n, std::align_val_t a) {
  return lathe::test::counted(n, static_cast<std::size_t>(a));
}
// These report failure with a null pointer.
LATHE_COUNTED void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return lathe::test::counted_or_null(n, alignof(std::max_align_t));
}
LATHE_COUNTED void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return lathe::test::counted_or_null(n, static_cast<std::size_t>(a));
}
extern "C" LATHE_COUNTED void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  ++lathe::test::big_allocations;
  return lathe::test::counted_or_null(n, alignment);
}
extern "C" LATHE_COUNTED int posix_memalign(void** p, std::size_t alignment, std::size_t n) noexcept {
  ++lathe::test::big_allocations;
  *p = lathe::test::counted_or_null(n, alignment);
  return *p ? 0 : ENOMEM;
}
LATHE_COUNTED void operator delete(void* p) noexcept { std::free(p); }
LATHE_COUNTED void operator delete[](void* p) noexcept { std::free(p); }
LATHE_COUNTED void operator delete(void* p, std::size_t) noexcept { std::free(p); }
LATHE_COUNTED void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
LATHE_COUNTED void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
LATHE_COUNTED void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
LATHE_COUNTED void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
LATHE_COUNTED void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#undef LATHE_COUNTED
