// Helpers of operators that only move elements: these are written once per element size, and packed types
// pass through as bytes.
#pragma once

#include <algorithm>
#include <utility>

#include "kernel/temporary.h"
#include "ops/poller.h"
#include "tensor/element.h"
#include "tensor/strides.h"

namespace lathe {

/// Elements of whole bytes: the tensor itself, or a packed one after widened().
inline Tensor unpacked(const Tensor& t) { return is_packed(t.type()) ? widened(t) : t; }

/// An output whose elements are whole bytes while a kernel writes them.
class ByteOutput {
 public:
  explicit ByteOutput(Tensor& out)
      : out_(out), bytes_(is_packed(out.type()) ? Tensor(DataType::uint8, out.shape()) : out) {}
  Tensor& tensor() { return bytes_; }
  /// Packs the elements again, if that is needed.
  void finish() {
    if (is_packed(out_.type())) narrow_into(bytes_, out_);
  }

 private:
  Tensor& out_;
  Tensor bytes_;
};

/// Calls f<T>(from, to) with the elements of `in` and `out` (of one element type), T of the element's size.
template <class F>
void move_elements(const Tensor& in, Tensor& out, F&& f) {
  const Tensor from = unpacked(in);
  ByteOutput to(out);
  for_size(from.type(),
           [&]<class T> { f.template operator()<T>(from.as<T>(), to.tensor().template as<T>()); });
  to.finish();
}

/// Copies all elements; does nothing if both are the same memory.
inline void copy_elements(const Tensor& in, Tensor& out, KernelContext& c) {
  if (in.data() == out.data() || in.size() == 0) return;
  Poller poll(c);
  if (in.type() == DataType::string)
    poll.copy(in.as<std::string>().data(), in.size(), out.as<std::string>().data());
  else
    poll.copy(static_cast<const std::byte*>(in.data()), static_cast<int64_t>(in.bytes()),
              static_cast<std::byte*>(out.data()));
}

/// The whole of a kernel that only changes the shape.
template <class Op>
void copy_reshaped(const Op&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (in.size() != out.size())
    c.fail(Code::run_bad_shape, "a shape of " + std::to_string(in.size()) + " elements",
           describe(out.shape()));
  copy_elements(in, out, c);
}

/// A function of its own, so that loops over indices keep these in registers.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_index(const KernelContext& c, int64_t index,
                                                                int64_t size) {
  c.fail(Code::run_bad_index, "an index in [" + std::to_string(-size) + ", " + std::to_string(size) + ")",
         std::to_string(index), "check the data that the indices come from");
}
/// An index into an axis of `size`, negative ones counted from the back; Code::run_bad_index otherwise.
inline int64_t checked_index(const KernelContext& c, int64_t index, int64_t size) {
  const int64_t place = index + (index < 0 ? size : 0);
  if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(size)) [[unlikely]]
    refuse_index(c, index, size);
  return place;
}

/// Reads one element of an index tensor (int32 or int64).
inline int64_t index_at(const Tensor& indices, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return indices.type() == DataType::int32 ? indices.as<int32_t>()[at] : indices.as<int64_t>()[at];
}

/// A node's axis, which its rule has checked.
inline size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

/// The transpose of a matrix: `columns` long pieces of `rows` elements, `column` elements apart. In squares,
/// so that all of a line that was read is used while a cache holds it.
template <class T>
void copy_transposed(const T* from, int64_t column, int64_t rows, int64_t columns, T* to, Poller& poll) {
  constexpr int64_t side = 32;
  for (int64_t i = 0; i < rows; i += side)
    for (int64_t j = 0; j < columns; j += side) {
      const int64_t i_end = std::min(i + side, rows), j_end = std::min(j + side, columns);
      poll.did((i_end - i) * (j_end - j));
      for (int64_t y = i; y < i_end; ++y)
        for (int64_t x = j; x < j_end; ++x) to[y * columns + x] = from[x * column + y];
    }
}

/// Writes the elements at `from[offset + Σ index·stride]`, for every index of `shape` in row-major order.
template <class T>
void copy_strided(const T* from, T* to, const Shape& shape, const Shape& strides, KernelContext& c) {
  if (count_of(shape) == 0) return;
  const size_t rank = shape.size();
  if (rank >= 2 && strides[rank - 2] == 1 && strides[rank - 1] != 1) {
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    Odometer at({shape.begin(), shape.end() - 2}, {strides.begin(), strides.end() - 2});
    Poller poll(c);
    do
      copy_transposed(from + at.offset(), strides.back(), rows, columns,
                      std::exchange(to, to + rows * columns), poll);
    while (at.next());
    return;
  }
  const int64_t row = shape.empty() ? 1 : shape.back();
  const int64_t step = shape.empty() ? 0 : strides.back();
  Shape outer = shape, outer_strides = strides;
  if (!shape.empty()) {
    outer.pop_back();
    outer_strides.pop_back();
  }
  Odometer at(std::move(outer), std::move(outer_strides));
  Poller poll(c);
  do {
    const T* p = from + at.offset();
    if (step == 1) {
      poll.copy(p, row, to);
      to += row;
      continue;
    }
    for (int64_t i = 0; i < row;) {
      const int64_t end = std::min(row, i + 65536);
      poll.did(end - i);
      for (; i < end; ++i) *to++ = p[i * step];
    }
  } while (at.next());
}

/// The offsets of each axis's indices.
using IndexTables = std::pmr::vector<std::pmr::vector<int64_t>>;

/// Copies, for every index of `shape` in row-major order, the element at the sum of its axes' table entries;
/// a negative entry means `constant`.
template <class T>
void copy_by_tables(const T* from, T* to, const Shape& shape, const IndexTables& tables, const T& constant,
                    KernelContext& c) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  if (count_of(shape) == 0) return;
  const auto& row = tables.back();
  Shape outer = shape;
  outer.pop_back();
  Odometer at(outer, Shape(outer.size(), 0));
  Poller poll(c);
  do {
    int64_t base = 0;
    for (size_t a = 0; a < outer.size() && base >= 0; ++a) {
      const int64_t part = tables[a][static_cast<size_t>(at.index()[a])];
      base = part < 0 ? -1 : base + part;
    }
    for (int64_t offset : row) {
      poll.did(1);
      *to++ = base < 0 || offset < 0 ? constant : from[base + offset];
    }
  } while (at.next());
}

}  // namespace lathe
