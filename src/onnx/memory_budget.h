// Bounds the memory that a parsed file may take. The smallest message is two bytes long in a file and
// hundreds of bytes in memory: without a bound, a small file could take a thousand times its size.
#pragma once

#include <cstdint>

namespace lathe::onnx {

class MemoryBudget {
 public:
  /// Messages of real models take at most about forty times their size in the file.
  static constexpr uint64_t base = uint64_t{64} << 20, per_byte = 64;

  explicit MemoryBudget(uint64_t file_bytes) : left_(base + per_byte * file_bytes), all_(left_) {}
  /// Returns false if that is more than is left.
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  uint64_t all() const { return all_; }

 private:
  uint64_t left_, all_;
};

}  // namespace lathe::onnx
