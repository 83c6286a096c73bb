// Memory into which large weights are copied from their file to be read once, one after the other: it stays
// in the caches, while the system gives each page of a mapping and takes it back.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>

#include "kernel/kernel.h"
#include "lathe/tensor.h"

namespace lathe {

class ReadBuffer {
 public:
  /// Larger weights are read from their mapping: the buffer would take as much memory again.
  static constexpr size_t max_bytes = size_t{16} << 20;

  /// Takes so many bytes the next time that it takes memory.
  explicit ReadBuffer(size_t bytes = 0) : requested_(bytes) {}
  /// Returns an aligned copy of the weight, valid until the next call. Nothing if the weight is too large or
  /// not in a mapped file, or if there is no memory. Without `workers` the calling thread copies alone.
  std::optional<Tensor> copy(const Tensor& weight, Workers* workers = nullptr);

 private:
  size_t requested_, size_ = 0;
  std::unique_ptr<char, decltype(&std::free)> memory_{nullptr, std::free};
};

}  // namespace lathe
