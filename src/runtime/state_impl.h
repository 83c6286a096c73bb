// The implementation of State: memory with gaps where one axis grows, or blocks of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "lathe/state.h"

namespace lathe {

/// Memory of a tensor one axis of which may have gaps behind it.
struct GrowingMemory {
  void* data = nullptr;                 // without blocks
  int64_t capacity = 0;                 // the indices along the axis that `data` has room for
  const StateBlocks* blocks = nullptr;  // in place of data
};
/// Copies the elements of a tensor of this shape, which grows along the axis, from one memory to another; -1:
/// both are dense.
void copy_growing(DataType type, const Shape& shape, int32_t axis, const GrowingMemory& from,
                  const GrowingMemory& to);
/// Returns a dense copy.
Tensor dense_copy(DataType type, const Shape& shape, int32_t axis, const GrowingMemory& from);

struct State::Impl {
  /// Takes address space for it, unless it is in blocks of so many indices. Throws run_too_large,
  /// run_out_of_memory.
  Impl(DataType type, Shape shape, int32_t axis, int64_t capacity, int64_t block = 0);

  /// Copies the elements of a tensor, which fit, and takes its shape.
  void take(const Tensor& t);
  /// Makes room for so many indices along the axis, of which those that it has stay, in memory that no other
  /// state shares behind them. Throws run_out_of_memory.
  void reserve(int64_t length);
  /// Gives blocks up that are behind so many indices.
  void drop_blocks_behind(int64_t length);
  /// Returns the address that kernels see: of the elements, or of the blocks' list.
  void* address() { return in_blocks() ? static_cast<void*>(&blocks) : memory.get(); }
  bool in_blocks() const { return blocks.rows > 0; }
  Tensor view() { return Tensor::view(type, shape, address()); }
  GrowingMemory growing() const { return {memory.get(), capacity, in_blocks() ? &blocks : nullptr}; }

  DataType type = DataType::undefined;
  Shape shape;
  int32_t axis = -1;
  int64_t capacity = 0;
  uint64_t reserved = 0;  // bytes of address space, or of one block
  std::shared_ptr<void> memory;
  StateBlocks blocks;                         // rows of 0: it is in one piece
  std::vector<std::shared_ptr<void>> owners;  // of the blocks; copies of the state share them
  std::vector<void*> addresses;               // of the blocks
  std::atomic<bool> in_use{false};            // by a run
  bool changed_by_failed_run = false;
};

struct StateAccess {
  static const std::shared_ptr<State::Impl>& impl(const State& s) { return s.impl_; }
  static State make(std::shared_ptr<State::Impl> i) { return State(std::move(i)); }
};

}  // namespace lathe
