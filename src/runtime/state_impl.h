// The implementation of State: memory with gaps where one axis grows.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "lathe/state.h"

namespace lathe {

/// Copies a dense tensor into memory that has `capacity` indices along `axis`, behind the first `at` of them;
/// or from there. An axis of -1: all of it, from the first element on.
void copy_into_state(const Tensor& from, void* to, int32_t axis, int64_t capacity, int64_t at);
Tensor copy_of_state(DataType type, const Shape& shape, const void* from, int32_t axis, int64_t capacity);

struct State::Impl {
  /// Takes address space for it. Throws run_too_large, run_out_of_memory.
  Impl(DataType type, Shape shape, int32_t axis, int64_t capacity);

  uint64_t bytes_of(const Shape& s) const;
  Tensor view() const { return Tensor::view(type, shape, memory.get()); }

  DataType type = DataType::undefined;
  Shape shape;
  int32_t axis = -1;
  int64_t capacity = 0;
  uint64_t reserved = 0;  // bytes of address space
  std::shared_ptr<void> memory;
  std::atomic<bool> in_use{false};  // by a run
  bool changed_by_failed_run = false;
};

struct StateAccess {
  static const std::shared_ptr<State::Impl>& impl(const State& s) { return s.impl_; }
  static State make(std::shared_ptr<State::Impl> i) { return State(std::move(i)); }
};

}  // namespace lathe
