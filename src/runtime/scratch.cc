#include "runtime/scratch.h"

#include <new>

namespace lathe {

void* Scratch::do_allocate(size_t bytes, size_t alignment) {
  const size_t size = aligned_size(bytes);
  size_t at = used_.load(std::memory_order_relaxed);
  bool fits;
  do fits = alignment <= memory_alignment && size <= buffer_.bytes() - at;
  while (fits && !used_.compare_exchange_weak(at, at + size, std::memory_order_relaxed));
  void* const p = fits ? buffer_.data() + at : ::operator new (size, std::align_val_t{memory_alignment});
  const size_t heap = fits ? heap_.load(std::memory_order_relaxed) : heap_.fetch_add(size) + size;
  const size_t now = used_.load(std::memory_order_relaxed) + heap;
  for (size_t most = most_.load(std::memory_order_relaxed);
       most < now && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed);) {
  }
  return p;
}

// What was taken last can be taken again; what lies deeper waits for the end of the step.
void Scratch::do_deallocate(void* p, size_t bytes, size_t) {
  const size_t size = aligned_size(bytes);
  char* const at = static_cast<char*>(p);
  if (at >= buffer_.data() && at < buffer_.data() + buffer_.bytes()) {
    const auto begin = static_cast<size_t>(at - buffer_.data());
    size_t end = begin + size;
    used_.compare_exchange_strong(end, begin, std::memory_order_relaxed);
    return;
  }
  ::operator delete (p, std::align_val_t{memory_alignment});
  heap_.fetch_sub(size, std::memory_order_relaxed);
}

}  // namespace lathe
