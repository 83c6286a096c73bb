#include <algorithm>

#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/scatter/cache_rows.h"

namespace lathe {

void write_rows(const CacheRows& u, KernelContext& c) {
  const Tensor &old = c.in(0), &added = c.in(1);
  Tensor& out = c.out(0);
  const auto row = u.inner * static_cast<int64_t>(cpu::element_bytes(out));
  const auto* const from = static_cast<const std::byte*>(old.data());
  const auto* const rows = static_cast<const std::byte*>(added.data());
  auto* const to = static_cast<std::byte*>(out.data());
  const int64_t whole = u.size * row, part = u.rows * row, kept = std::min(u.old_size, u.size);
  if (whole == 0 || u.outer == 0) return;
  const bool in_cache = from == to, in_update = u.rows == u.size && rows == to;
  const int64_t moved = in_cache ? part + (u.size - kept) * row : whole;
  c.parallel(u.outer, std::max<int64_t>(1, Poller::every / std::max<int64_t>(moved, 1)),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               for (int64_t o = begin; o < end; ++o) {
                 std::byte* const made = to + o * u.stride * row;
                 const int64_t first = u.first(o);
                 if (in_update) {
                   std::rotate(made, made + (whole - first * row) % whole, made + whole);
                   poll.did(first > 0 ? whole : 1);
                   continue;
                 }
                 // Rows beyond the end of a circular KV cache are written from its start.
                 const int64_t behind = std::min(u.rows, u.size - first), again = u.rows - behind;
                 const auto copy = [&](int64_t a, int64_t b) {
                   if (a < b) poll.copy(from + (o * u.old_stride + a) * row, (b - a) * row, made + a * row);
                 };
                 const auto clear = [&](int64_t a, int64_t b) {
                   if (a < b) poll.fill(made + a * row, (b - a) * row, std::byte{});
                 };
                 if (!in_cache) {
                   copy(again, std::min(first, kept));
                   copy(first + behind, kept);
                 }
                 clear(kept, first);
                 clear(std::max(kept, first + behind), u.size);
                 poll.copy(rows + o * part, behind * row, made + first * row);
                 poll.copy(rows + o * part + behind * row, again * row, made);
               }
             });
}

}  // namespace lathe
