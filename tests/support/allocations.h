// Counts calls of operator new, to show that something allocates nothing. Include in one source of a test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace lathe::test {
inline std::atomic<long> allocations{0};
inline void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return p;
  throw std::bad_alloc();
}
}  // namespace lathe::test

// Out of line: seen through, they look to gcc like new paired with free.
#define LATHE_COUNTED [[gnu::noinline]]
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
// Those that report failure with a null pointer: what the library asks big blocks with.
LATHE_COUNTED void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  ++lathe::test::allocations;
  return std::malloc(n);
}
LATHE_COUNTED void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  const auto alignment = static_cast<std::size_t>(a);
  ++lathe::test::allocations;
  return std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
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
