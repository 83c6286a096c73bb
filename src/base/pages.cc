#include "base/pages.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace lathe {

namespace {
constexpr size_t huge_page = size_t{2} << 20;
}  // namespace

void* allocate_pages(size_t bytes) noexcept {
  constexpr size_t line = 64;
  if (bytes > SIZE_MAX - huge_page) return nullptr;
  const size_t whole = bytes ? (bytes + line - 1) / line * line : line;
  if (whole < huge_page) return std::aligned_alloc(line, whole);
  void* p = nullptr;
  if (::posix_memalign(&p, huge_page, whole) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  ::madvise(p, whole / huge_page * huge_page, MADV_HUGEPAGE);  // a wish: without it all works as well
#endif
  return p;
}

void supply_pages([[maybe_unused]] void* p, [[maybe_unused]] size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + page - 1) / page * page,
                  end = (reinterpret_cast<uintptr_t>(p) + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

void supply_small_pages(void* p, size_t bytes) noexcept {
  const size_t huge = bytes / huge_page * huge_page;
  supply_pages(static_cast<char*>(p) + huge, bytes - huge);
}

namespace {

std::shared_ptr<void> map_pages(size_t bytes, int protection) {
  if (bytes == 0) bytes = 1;
  void* const p = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  return {p, [bytes](void* q) { ::munmap(q, bytes); }};
}

}  // namespace

std::shared_ptr<void> zero_pages(size_t bytes) { return map_pages(bytes, PROT_READ); }

std::shared_ptr<void> reserve_pages(size_t bytes) {
  auto made = map_pages(bytes, PROT_READ | PROT_WRITE);
#ifdef MADV_NOHUGEPAGE
  // A huge page would be memory for much more than has been written.
  if (made) ::madvise(made.get(), bytes, MADV_NOHUGEPAGE);
#endif
  return made;
}

void return_pages(void* p, size_t bytes) noexcept {
  if (bytes > 0) ::madvise(p, bytes, MADV_DONTNEED);
}

void return_freed_heap() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace lathe
