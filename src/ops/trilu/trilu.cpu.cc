// Trilu of elements of whole bytes: the kept part of a row is copied whole, the rest is zeroed.
#include "ops/trilu/trilu.h"

#include <algorithm>

#include "cpu/support.h"
#include "ops/movement.h"

namespace lathe {
namespace {

constexpr int64_t triangle_piece = 16384;  // elements worth another thread

Support supports_triangle(const Trilu&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

/// The elements of row `i` that stay, [first, end).
struct KeptOfRow {
  int64_t first, end;
  KeptOfRow(const Trilu& op, int64_t i, int64_t diagonal, int64_t columns) {
    const int64_t border = std::clamp<int64_t>(i + diagonal + (op.upper ? 0 : 1), 0, columns);
    first = op.upper ? border : 0;
    end = op.upper ? columns : border;
  }
};

void keep_triangle(const Trilu& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (c.has(1) && c.in(1).size() != 1)
    c.fail(Code::run_bad_shape, "a diagonal k of one element", describe(c.in(1)));
  if (out.size() == 0) return;
  const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  // Diagonals beyond all elements are alike.
  const int64_t diagonal = std::clamp(c.has(1) ? load_int(c.in(1), 0) : 0, -rows - 1, columns + 1);
  for_size(in.type(), [&]<class T> {
    const T* const from = in.as<T>().data();
    T* const to = out.as<T>().data();
    c.parallel(in.size() / columns, std::max<int64_t>(1, triangle_piece / columns),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 c.poll();
                 for (int64_t r = begin; r < end; ++r) {
                   const KeptOfRow kept(op, r % rows, diagonal, columns);
                   T* const row = to + r * columns;
                   poll.fill(row, kept.first, T{});
                   if (from != to)
                     poll.copy(from + r * columns + kept.first, kept.end - kept.first, row + kept.first);
                   poll.fill(row + kept.end, columns - kept.end, T{});
                 }
               });
  });
}

}  // namespace

void cpu_trilu(KernelCatalog& k) {
  k.add<Trilu>({.op = "Trilu", .name = cpu::kernel_name("trilu", Isa::generic), .overwrites = true},
               {.run = keep_triangle, .supports = supports_triangle});
}

}  // namespace lathe
