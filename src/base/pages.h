// Memory from the operating system, in the pages that suit it.
#pragma once

#include <cstddef>
#include <memory>

namespace lathe {

/// At least `bytes` bytes, aligned to 64, for std::free; null when there are none. From the size of a huge
/// page on they begin at one and the system is asked for huge pages: walking through many small ones costs a
/// streamed product some 5 % of its time, and touching them for the first time costs more than that.
void* allocate_pages(size_t bytes) noexcept;

/// Makes the system supply these pages now, not one by one when they are first touched. If it refuses, they
/// are supplied when they are touched.
void supply_pages(void* p, size_t bytes) noexcept;
/// The same for memory of allocate_pages(), except for its huge pages: to clear them long before they are
/// written costs more than it saves.
void supply_small_pages(void* p, size_t bytes) noexcept;

/// Returns address space for so many bytes, which are zeros; they take memory page by page as they are
/// written. Null if the system refuses.
std::shared_ptr<void> reserve_pages(size_t bytes);
/// Makes such memory zeros again, which take no memory.
void return_pages(void* p, size_t bytes) noexcept;

/// Returns so many zeros to read, which take address space but no memory; null if the system refuses. Writing
/// to them is a fault.
std::shared_ptr<void> zero_pages(size_t bytes);

/// Returns to the system what was freed of the heap, where the C library does that. It takes milliseconds.
void return_freed_heap() noexcept;

}  // namespace lathe
