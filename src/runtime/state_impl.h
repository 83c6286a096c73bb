// The implementation of State: memory with gaps where one axis grows.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "lathe/state.h"

namespace lathe {

/// Copies a tensor between memories that have room for so many indices along its axis; -1: both are dense.
void copy_growing(DataType type, const Shape& shape, int32_t axis, const void* from, int64_t from_capacity,
                  void* to, int64_t to_capacity);
/// Returns a dense copy of a tensor whose memory has room for so many indices along its axis; -1: it is
/// dense.
Tensor dense_copy(DataType type, const Shape& shape, int32_t axis, const void* from, int64_t capacity);

struct State::Impl {
  /// Takes address space for it. Throws run_too_large, run_out_of_memory.
  Impl(DataType type, Shape shape, int32_t axis, int64_t capacity);

  /// Copies the elements of a tensor, which fit, and takes its shape.
  void take(const Tensor& t);
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
