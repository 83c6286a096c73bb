// Temporary tensors and lists of kernels, for the length of one call.
#pragma once

#include <cstddef>
#include <memory>

#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe {

/// An uninitialized tensor of fixed-width elements in the scratch memory of this call.
inline Tensor temporary(KernelContext& c, DataType type, Shape shape) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const auto count = static_cast<size_t>(checked_count(shape, type, "temporary"));
  // One block holds the elements and the count of owners: scratch memory is released last first.
  std::shared_ptr<Line[]> lines = std::allocate_shared_for_overwrite<Line[]>(
      std::pmr::polymorphic_allocator<Line>(c.scratch()), bytes_for(type, count) / sizeof(Line) + 1);
  void* const data = lines.get();
  return Tensor::view(type, std::move(shape), data, std::move(lines));
}

/// The elements of an integer tensor in the scratch memory of this call.
inline std::pmr::vector<int64_t> integers_of(const Tensor& t, KernelContext& c) {
  std::pmr::vector<int64_t> list(static_cast<size_t>(t.size()), c.scratch());
  for (size_t i = 0; i < list.size(); ++i) list[i] = load_int(t, static_cast<int64_t>(i));
  return list;
}

}  // namespace lathe
