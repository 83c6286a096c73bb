#include "runtime/scratch.h"

#include <cstring>
#include <new>

#include "lathe/error.h"

namespace lathe {

void Scratch::end() {
  try {
    buffer_.ensure(most_.load(std::memory_order_relaxed));
  } catch (const Error&) {
    most_.store(0, std::memory_order_relaxed);
  }
}

// Called only for memory that could be allocated: else every later step would ask for a size that the heap
// once refused.
void* Scratch::noted(void* p, size_t height) {
  for (size_t most = most_.load(std::memory_order_relaxed);
       most < height && !most_.compare_exchange_weak(most, height, std::memory_order_relaxed);) {
  }
  return p;
}

// A block from the heap has a place in the stack like any other, noted in front of it: so the first run finds
// out how high the stack will be in the next.
void* Scratch::do_allocate(size_t bytes, size_t alignment) {
  const size_t size = aligned_size(bytes), at = used_.fetch_add(size, std::memory_order_relaxed);
  if (alignment <= memory_alignment && at + size <= buffer_.bytes())
    return noted(buffer_.data() + at, at + size);
  MemoryCharge charge(account_);
  charge.take(memory_alignment + size);
  char* const block =
      static_cast<char*>(::operator new (memory_alignment + size, std::align_val_t{memory_alignment}));
  charge.keep();  // until it is given back
  std::memcpy(block, &at, sizeof at);
  return noted(block + memory_alignment, at + size);
}

// Only the block that was taken last is reused at once; others are reused after the step.
void Scratch::do_deallocate(void* p, size_t bytes, size_t) {
  char* const data = static_cast<char*>(p);
  size_t at = 0;
  if (data >= buffer_.data() && data < buffer_.data() + buffer_.bytes()) {
    at = static_cast<size_t>(data - buffer_.data());
  } else {
    char* const block = data - memory_alignment;
    std::memcpy(&at, block, sizeof at);
    ::operator delete (block, std::align_val_t{memory_alignment});
    account_.give(memory_alignment + aligned_size(bytes));
  }
  size_t end = at + aligned_size(bytes);
  used_.compare_exchange_strong(end, at, std::memory_order_relaxed);
}

}  // namespace lathe
