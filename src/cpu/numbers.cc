#include "cpu/numbers.h"

#include <algorithm>
#include <cstring>

#include "cpu/elementwise.h"
#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/numbers_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(NumberKernels, number_kernels)

bool computes(PairOp op, DataType type) {
  return generic::table.pair[static_cast<size_t>(op)][number_column(type)] != nullptr;
}
bool computes(SingleOp op, DataType type) {
  return generic::table.single[static_cast<size_t>(op)][number_column(type)] != nullptr;
}

namespace {

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

}  // namespace

void apply_pairs(Isa isa, PairOp op, const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c) {
  const PairRow row = number_kernels(isa).pair[static_cast<size_t>(op)][number_column(x.type())];
  const Broadcast b(x.shape(), y.shape());
  const int64_t bytes = whole_bytes(x), bytes_out = whole_bytes(to);
  const auto *const xs = static_cast<const std::byte*>(x.data()), *const ys =
                                                                      static_cast<const std::byte*>(y.data());
  for_each_row(b, c, [&](int64_t left, int64_t right, int64_t at, int64_t n) {
    const std::byte *l = xs + left * bytes, *r = ys + right * bytes;
    std::byte* const out = static_cast<std::byte*>(to.data()) + at * bytes_out;
    if (b.form == RowForm::both) return row(l, r, out, n);
    // What stands still is spread over a piece of a row, so that there is but one loop for each function.
    alignas(64) std::byte spread[2048];
    const int64_t room = static_cast<int64_t>(sizeof spread) / bytes, used = std::min(n, room) * bytes;
    const bool left_stands = b.form == RowForm::left_single;
    std::memcpy(spread, left_stands ? l : r, static_cast<size_t>(bytes));
    for (int64_t done = bytes, more; done < used; done += more)
      std::memcpy(spread + done, spread, static_cast<size_t>(more = std::min(done, used - done)));
    for (int64_t i = 0; i < n; i += room)
      row(left_stands ? spread : l + i * bytes, left_stands ? r + i * bytes : spread, out + i * bytes_out,
          std::min(room, n - i));
  });
}

void apply_single(Isa isa, SingleOp op, const Tensor& x, Tensor& to, KernelContext& c) {
  const SingleRow row = number_kernels(isa).single[static_cast<size_t>(op)][number_column(x.type())];
  const int64_t bytes = whole_bytes(x);
  for_each_piece(x.size(), c, [&](int64_t at, int64_t n) {
    row(static_cast<const std::byte*>(x.data()) + at * bytes, static_cast<std::byte*>(to.data()) + at * bytes,
        n);
  });
}

void apply_clip(Isa isa, const Tensor& x, Tensor& to, const void* low, const void* high, KernelContext& c) {
  const BoundedRow row = number_kernels(isa).clip[number_column(x.type())];
  const int64_t bytes = whole_bytes(x);
  for_each_piece(x.size(), c, [&](int64_t at, int64_t n) {
    row(static_cast<const std::byte*>(x.data()) + at * bytes, static_cast<std::byte*>(to.data()) + at * bytes,
        n, low, high);
  });
}

}  // namespace lathe::cpu
