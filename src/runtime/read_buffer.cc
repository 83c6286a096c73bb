#include "runtime/read_buffer.h"

#include <algorithm>
#include <atomic>

#include "base/file.h"
#include "base/pages.h"

namespace lathe {

std::optional<Tensor> ReadBuffer::copy(const Tensor& weight, Workers* workers) {
  const auto* const from = static_cast<const char*>(weight.data());
  const size_t bytes = weight.bytes();
  if (bytes > max_bytes || !is_mapped(from, bytes)) return std::nullopt;
  if (bytes > size_) {
    size_ = std::max(bytes, requested_);
    memory_.reset();  // before as much is taken again
    memory_.reset(static_cast<char*>(allocate_pages(size_)));
    if (memory_) supply_pages(memory_.get(), size_);
  }
  if (!memory_) {
    size_ = 0;
    return std::nullopt;
  }
  constexpr size_t piece = size_t{1} << 18;
  std::atomic<bool> whole = true;
  const auto read = [&](int64_t begin, int64_t end) {
    const size_t at = static_cast<size_t>(begin) * piece;
    const size_t n = std::min(static_cast<size_t>(end) * piece, bytes) - at;
    if (!read_mapped(from + at, n, memory_.get() + at)) whole = false;
  };
  const auto pieces = static_cast<int64_t>((bytes + piece - 1) / piece);
  if (workers)
    workers->parallel(pieces, 1, read);
  else
    read(0, pieces);
  if (!whole) return std::nullopt;
  return Tensor::view(weight.type(), weight.shape(), memory_.get());
}

}  // namespace lathe
