// NonZero and Compress: elements are counted in blocks, so that every block knows the offset of its results.
#include "ops/select/select.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/select/slices.h"

namespace lathe {
namespace {

/// The number of elements that are counted between polls and that are worth another thread.
constexpr int64_t counted_block = 16384;
/// The number of those that are searched at once.
constexpr int64_t found_at_once = 512;

/// The bits that are compared with 0: the sign of a float's zero is ignored.
uint64_t bits_that_count(DataType type) {
  const auto bits = static_cast<unsigned>(bits_of(type));
  return (is_float(type) ? ~(uint64_t{1} << (bits - 1)) : ~uint64_t{0}) & (~uint64_t{0} >> (64 - bits));
}

Support supports_nonzero(const NonZero&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, number_and_bool_types);
}

/// Calls f<T>() with the unsigned integer of the elements' size, which has at most 64 bits.
template <class F>
void for_bits(DataType type, F&& f) {
  for_size(type, [&]<class T> {
    if constexpr (std::is_integral_v<T>) f.template operator()<T>();
  });
}

/// Calls f(block, begin, end) for all blocks of `size` elements, on all threads.
template <class F>
void for_each_block(int64_t size, KernelContext& c, F&& f) {
  c.parallel(ceil_div(size, counted_block), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      c.poll();
      f(b, b * counted_block, std::min((b + 1) * counted_block, size));
    }
  });
}

size_t nonzero_workspace(const NonZero&, std::span<const Shape> inputs, int) {
  return static_cast<size_t>(ceil_div(count_of(inputs[0]), counted_block)) * sizeof(int64_t);
}

/// Writes the coordinates of elements in [begin, end) that are not zero, a row for each axis.
template <class T>
class CoordinateRows {
 public:
  CoordinateRows(const Tensor& in, uint64_t mask, Tensor& out)
      : from_(static_cast<const T*>(in.data())),
        mask_(static_cast<T>(mask)),
        shape_(in.shape()),
        to_(out.as<int64_t>().data()),
        columns_(out.dim(1)) {}

  /// `at`: the column of the first.
  void write(int64_t begin, int64_t end, int64_t at) const {
    const size_t last = shape_.size() - 1;
    Shape index(shape_.size(), 0);
    for (int64_t rest = begin, a = static_cast<int64_t>(last); a >= 0; --a) {
      index[static_cast<size_t>(a)] = rest % shape_[static_cast<size_t>(a)];
      rest /= shape_[static_cast<size_t>(a)];
    }
    std::array<uint16_t, found_at_once> found;
    while (begin < end) {
      const int64_t n = std::min({end - begin, shape_[last] - index[last], found_at_once});
      const int64_t count = find(begin, n, found.data());
      for (size_t a = 0; a < last; ++a)
        std::fill_n(to_ + static_cast<int64_t>(a) * columns_ + at, count, index[a]);
      int64_t* const along = to_ + static_cast<int64_t>(last) * columns_ + at;
      for (int64_t i = 0; i < count; ++i) along[i] = index[last] + found[static_cast<size_t>(i)];
      at += count;
      begin += n;
      index[last] += n;
      for (size_t a = last; a > 0 && index[a] == shape_[a]; --a) {
        index[a] = 0;
        ++index[a - 1];
      }
    }
  }

 private:
  /// Branches are avoided, because zeros cannot be predicted.
  int64_t find(int64_t first, int64_t n, uint16_t* found) const {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      found[count] = static_cast<uint16_t>(i);
      count += (from_[first + i] & mask_) != 0;
    }
    return count;
  }
  const T* from_;
  T mask_;
  Shape shape_;
  int64_t* to_;
  int64_t columns_;
};

void find_nonzero(const NonZero&, KernelContext& c) {
  const Tensor& in = c.in(0);
  auto* const counts = static_cast<int64_t*>(
      c.workspace(static_cast<size_t>(ceil_div(in.size(), counted_block)) * sizeof(int64_t)));
  const uint64_t mask = bits_that_count(in.type());
  for_bits(in.type(), [&]<class T> {
    const T* const from = static_cast<const T*>(in.data());
    const T wanted = static_cast<T>(mask);
    for_each_block(in.size(), c, [&](int64_t b, int64_t begin, int64_t end) {
      int64_t n = 0;
      for (int64_t i = begin; i < end; ++i) n += (from[i] & wanted) != 0;
      counts[b] = n;
    });
  });
  int64_t total = 0;
  for (int64_t b = 0; b < ceil_div(in.size(), counted_block); ++b)
    total += std::exchange(counts[b], total);  // now the column of each block's first
  Tensor& out = c.out(0, DataType::int64, {static_cast<int64_t>(in.rank()), total});
  if (in.rank() == 0 || total == 0) return;
  for_bits(in.type(), [&]<class T> {
    const CoordinateRows<T> rows(in, mask, out);
    for_each_block(in.size(), c,
                   [&](int64_t b, int64_t begin, int64_t end) { rows.write(begin, end, counts[b]); });
  });
}

Support supports_compress(const Compress&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

size_t compress_workspace(const Compress&, std::span<const Shape> inputs, int) {
  return static_cast<size_t>(count_of(inputs[1])) * sizeof(int64_t);
}

/// Copies `count` slices of each outer index.
template <class T>
void copy_picked(const PickedSlices& s, const int64_t* which, int64_t count, const T* from, T* to,
                 KernelContext& c) {
  const int64_t grain = std::max<int64_t>(1, counted_block / s.inner);
  c.parallel(s.outer * count, grain, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    c.poll();
    for (int64_t i = begin, k = begin % count, o = begin / count; i < end; ++i) {
      const T* const slice = from + (o * s.count + which[k]) * s.inner;
      if (s.inner == 1) {
        to[i] = *slice;
        poll.did(1);
      } else {
        poll.copy(slice, s.inner, to + i * s.inner);
      }
      if (++k == count) {
        k = 0;
        ++o;
      }
    }
  });
}

void compress_slices(const Compress& op, KernelContext& c) {
  const Tensor &in = c.in(0), &condition = c.in(1);
  const PickedSlices s(in, op.axis);
  auto* const which =
      static_cast<int64_t*>(c.workspace(static_cast<size_t>(condition.size()) * sizeof(int64_t)));
  const auto* const bools = static_cast<const uint8_t*>(condition.data());
  int64_t count = 0;
  Poller(c).pieces(condition.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      which[count] = i;
      count += bools[i] != 0;
    }
  });
  if (count > 0 && which[count - 1] >= s.count)
    c.fail(Code::run_bad_index, "a condition that is true within " + std::to_string(s.count) + " slices",
           std::to_string(*std::lower_bound(which, which + count, s.count)));
  Tensor& out = c.out(0, in.type(), PickedSlices::shape(in, op.axis, count));
  if (out.size() == 0) return;
  for_size(in.type(),
           [&]<class T> { copy_picked(s, which, count, in.as<T>().data(), out.as<T>().data(), c); });
}

}  // namespace

void cpu_select(KernelCatalog& k) {
  k.add<NonZero>({.op = "NonZero", .name = cpu::kernel_name("nonzero", Isa::generic)},
                 {.run = find_nonzero, .supports = supports_nonzero, .workspace = nonzero_workspace});
  k.add<Compress>({.op = "Compress", .name = cpu::kernel_name("compress", Isa::generic)},
                  {.run = compress_slices, .supports = supports_compress, .workspace = compress_workspace});
}

}  // namespace lathe
