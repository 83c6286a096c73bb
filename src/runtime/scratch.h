// Memory for what kernels make and throw away within one call: a stack that any thread takes from.
#pragma once

#include <atomic>
#include <memory_resource>

#include "runtime/memory.h"

namespace lathe {

/// Allocates from one buffer; blocks that do not fit come from the heap. When the step ends, the buffer grows
/// to the size that was needed, so that the same step fits in the next run.
class Scratch final : public std::pmr::memory_resource {
 public:
  explicit Scratch(MemoryAccount& account) : account_(account), buffer_(host_backend(), account) {}
  /// Called between steps: reserves the bytes that they are known to need, so that nothing comes from the
  /// heap. Throws what Buffer::ensure does.
  void reserve(size_t bytes) { buffer_.ensure(bytes); }
  /// Called before a step, when nothing is in use.
  void begin() { used_.store(0, std::memory_order_relaxed); }
  /// Called after a step: grows the buffer. If that fails, blocks still come from the heap.
  void end();
  void release() noexcept {
    buffer_.release();
    most_.store(0, std::memory_order_relaxed);
  }

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* p, size_t bytes, size_t alignment) override;
  /// Notes how high the stack has been.
  void* noted(void* p, size_t height);
  bool do_is_equal(const memory_resource& o) const noexcept override { return this == &o; }

  MemoryAccount& account_;
  Buffer buffer_;
  std::atomic<size_t> used_{0};  // how high the stack is, with what the heap had to serve
  std::atomic<size_t> most_{0};  // how high it has been
};

}  // namespace lathe
