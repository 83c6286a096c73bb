// Elementwise computation of reference kernels: whatever the storage, every number is computed as double
// (floats), int64_t (signed integers) or uint64_t (unsigned ones and bools), in blocks that fit the L1 cache.
// For +, -, *, / and sqrt of floats up to 32 bits the result is that of float arithmetic: double has more
// than twice the digits, so rounding twice does no harm.
#pragma once

#include "ops/poller.h"
#include "tensor/element.h"
#include "tensor/to_integer.h"

namespace lathe {

inline constexpr int64_t lane_block = 256;

/// Reads elements [first, first + n) of a tensor of numbers (narrow and packed ones too).
template <class L>
void load_lanes(const Tensor& t, int64_t first, int64_t n, L* to);
/// Writes them. Integers wrap around; a float that no integer holds becomes what x86 makes of it; bools are
/// true for all but 0. Packed types share bytes between neighbors: `first` must be a multiple of 4.
template <class L>
void store_lanes(Tensor& t, int64_t first, int64_t n, const L* from);

/// Calls f(first, n) for blocks of at most lane_block elements; no two blocks share a byte of a packed
/// tensor.
template <class F>
void parallel_blocks(KernelContext& c, int64_t count, F f) {
  const int64_t blocks = count / lane_block + (count % lane_block != 0);
  c.parallel(blocks, 16, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t b = begin; b < end; ++b) {
      f(b * lane_block, std::min(lane_block, count - b * lane_block));
      poll.did(lane_block);
    }
  });
}

/// Computes n elements of the output from n of each input.
template <class L>
using LaneFunction = FunctionRef<void(const L* const* in, L* out, int64_t n)>;

/// Applies `f` to the first `count` inputs, broadcast to output 0.
template <class L>
void map_lanes(KernelContext& c, size_t count, LaneFunction<L> f);

/// The same, but the element type of input 0 chooses the lane: `f.operator()<L>(in, out, n)`.
template <class F>
void map_numbers(KernelContext& c, size_t count, F f) {
  auto as = [&]<class L>(L) {
    map_lanes<L>(c, count, [&](const L* const* in, L* out, int64_t n) { f(in, out, n); });
  };
  const DataType t = c.in(0).type();
  if (is_float(t))
    as(double{});
  else if (is_signed_integer(t))
    as(int64_t{});
  else
    as(uint64_t{});
}

/// Walks the elements of an output in rows along which each input advances by a fixed step.
class BroadcastRows {
 public:
  BroadcastRows(const KernelContext& c, const Shape& out, std::span<const Shape* const> inputs);
  /// Elements an input advances along a row: 0 or 1.
  int64_t step(size_t input) const { return stride(0, input); }
  /// Calls f(offset in the output, offsets in the inputs, length) for the rows within [begin, end).
  void each(int64_t begin, int64_t end, FunctionRef<void(int64_t, const int64_t*, int64_t)> f) const;

 private:
  int64_t& stride(size_t axis, size_t input) { return strides_[axis * inputs_ + input]; }
  int64_t stride(size_t axis, size_t input) const { return strides_[axis * inputs_ + input]; }

  size_t inputs_;
  Shape sizes_;                        // merged axes, innermost first
  InlineVector<int64_t, 24> strides_;  // by axis, then input
};

}  // namespace lathe
