#include "cpu/elementwise/typed_elementwise.h"

#include <algorithm>
#include <cstring>

#include "cpu/elementwise/elementwise.h"
#include "cpu/movement.h"
#include "cpu/simd/isa.h"
#include "tensor/element.h"

#define LATHE_ISA_BODY "cpu/elementwise/typed_elementwise_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TypedKernels, typed_kernels)

bool computes(TypedBinaryOp op, DataType type) {
  return generic::table.pair[static_cast<size_t>(op)][typed_column(type)] != nullptr;
}
bool computes(SingleOp op, DataType type) {
  return generic::table.single[static_cast<size_t>(op)][typed_column(type)] != nullptr;
}

namespace {

constexpr int64_t short_row = 24;

int64_t whole_bytes(const Tensor& t) { return bits_of(t.type()) / 8; }

/// Calls f(offset, n) for pieces of the elements, in parallel.
template <class F>
void for_each_piece(int64_t count, KernelContext& c, F&& f) {
  c.parallel(count, elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += elements_a_piece) {
      c.poll();
      f(i, std::min(elements_a_piece, end - i));
    }
  });
}

/// Copies elements of `rows` rows, from row `first` on, broadcast to the row length.
template <class T>
void broadcast_rows(const Broadcast& b, const Shape& strides, const T* from, int64_t first, int64_t rows,
                    T* to) {
  const size_t outer = b.sizes.size() - 1;
  Shape index(outer, 0);
  for (size_t a = outer; a-- > 0;) {
    index[a] = first % b.sizes[a];
    from += index[a] * strides[a];
    first /= b.sizes[a];
  }
  for (int64_t r = 0; r < rows; ++r, to += b.row) {
    for (int64_t i = 0; i < b.row; ++i) to[i] = from[i * strides.back()];
    for (size_t a = outer; a-- > 0;) {
      from += strides[a];
      if (++index[a] < b.sizes[a]) break;
      from -= strides[a] * b.sizes[a];
      index[a] = 0;
    }
  }
}

/// Returns whether an operand has the same layout as the result.
bool is_dense(const Broadcast& b, const Shape& strides) {
  int64_t step = 1;
  for (size_t a = b.sizes.size(); a-- > 0; step *= b.sizes[a])
    if (strides[a] != step) return false;
  return true;
}

/// Computes short rows, for which calls would take longer than the arithmetic: many at a time, from operands
/// that are broadcast to buffers.
template <class T>
void apply_short_rows(TypedBinaryRow row, const Broadcast& b, const Tensor& x, const Tensor& y, Tensor& to,
                      KernelContext& c) {
  constexpr int64_t capacity = 512;
  const int64_t together = capacity / b.row, bytes_out = whole_bytes(to);
  const bool left_dense = is_dense(b, b.left), right_dense = is_dense(b, b.right);
  c.parallel(b.rows, elements_a_piece / b.row, [&](int64_t begin, int64_t end) {
    alignas(64) T left[capacity], right[capacity];
    for (int64_t r = begin; r < end; r += together) {
      if ((r - begin) / together % 32 == 0) c.poll();
      const int64_t rows = std::min(together, end - r), at = r * b.row;
      const auto operand = [&](const Tensor& t, const Shape& strides, bool dense, T* repeated) -> const T* {
        const T* const from = static_cast<const T*>(t.data());
        if (dense) return from + at;
        broadcast_rows(b, strides, from, r, rows, repeated);
        return repeated;
      };
      row(operand(x, b.left, left_dense, left), operand(y, b.right, right_dense, right),
          static_cast<std::byte*>(to.data()) + at * bytes_out, rows * b.row);
    }
  });
}

}  // namespace

void refuse_zeros(DataType type, const void* divisors, int64_t n) {
  for_size(type, [&]<class T> {
    if constexpr (std::is_integral_v<T>) {
      const T* const list = static_cast<const T*>(divisors);
      bool zero = false;
      for (int64_t i = 0; i < n; ++i) zero |= list[i] == 0;
      if (zero)
        throw Error(lathe::Code::run_bad_value, "run", "divisors that are not 0", "an integer divided by 0",
                    "check the data that the divisor comes from");
    }
  });
}

void apply_typed_binary(Isa isa, TypedBinaryOp op, const Tensor& x, const Tensor& y, Tensor& to,
                        KernelContext& c) {
  const TypedBinaryRow row = typed_kernels(isa).pair[static_cast<size_t>(op)][typed_column(x.type())];
  const Broadcast b(x.shape(), y.shape());
  if (b.rows > 1 && b.row > 0 && b.row <= short_row)
    return for_size(x.type(), [&]<class T> {
      if constexpr (std::is_integral_v<T>) apply_short_rows<T>(row, b, x, y, to, c);
    });
  const int64_t bytes = whole_bytes(x), bytes_out = whole_bytes(to);
  const auto *const xs = static_cast<const std::byte*>(x.data()), *const ys =
                                                                      static_cast<const std::byte*>(y.data());
  for_each_row(b, c, [&](int64_t left, int64_t right, int64_t at, int64_t n) {
    const std::byte *l = xs + left * bytes, *r = ys + right * bytes;
    std::byte* const out = static_cast<std::byte*>(to.data()) + at * bytes_out;
    if (b.form == RowForm::both) return row(l, r, out, n);
    // A single element is repeated over a piece of a row, so that there is only one loop for each function.
    alignas(64) std::byte repeated[2048];
    const int64_t capacity = static_cast<int64_t>(sizeof repeated) / bytes;
    const bool left_is_single = b.form == RowForm::left_single;
    std::memcpy(repeated, left_is_single ? l : r, static_cast<size_t>(bytes));
    repeat(repeated, bytes, std::min(n, capacity) * bytes);
    for (int64_t i = 0; i < n; i += capacity)
      row(left_is_single ? repeated : l + i * bytes, left_is_single ? r + i * bytes : repeated,
          out + i * bytes_out, std::min(capacity, n - i));
  });
}

void apply_single(Isa isa, SingleOp op, const Tensor& x, Tensor& to, KernelContext& c) {
  const SingleRow row = typed_kernels(isa).single[static_cast<size_t>(op)][typed_column(x.type())];
  const int64_t bytes = whole_bytes(x);
  for_each_piece(x.size(), c, [&](int64_t at, int64_t n) {
    row(static_cast<const std::byte*>(x.data()) + at * bytes, static_cast<std::byte*>(to.data()) + at * bytes,
        n);
  });
}

void apply_clip(Isa isa, const Tensor& x, Tensor& to, const void* low, const void* high, KernelContext& c) {
  const BoundedRow row = typed_kernels(isa).clip[typed_column(x.type())];
  const int64_t bytes = whole_bytes(x);
  for_each_piece(x.size(), c, [&](int64_t at, int64_t n) {
    row(static_cast<const std::byte*>(x.data()) + at * bytes, static_cast<std::byte*>(to.data()) + at * bytes,
        n, low, high);
  });
}

}  // namespace lathe::cpu
