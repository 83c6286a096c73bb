// The operator Where for elements of whole bytes, broadcast: row by row, in vectors.
#include "ops/where/where.h"

#include <bit>
#include <cstring>

#include "cpu/elementwise.h"
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

Support supports(const Where&, const KernelQuery& r) {
  if (r.inputs.size() != 3 || r.inputs[0].type != DataType::boolean) return Support::no("no condition");
  const int bits = bits_of(r.inputs[1].type);
  if (bits < 8) return Support::no("elements are not of whole bytes");
  if (r.inputs[2].type != r.inputs[1].type || r.outputs[0].type != r.inputs[1].type)
    return Support::no("elements of different types");
  return Support::yes();
}

/// Fills one row of the output from one operand.
void repeat_row(const char* from, bool moves, char* to, int64_t n, int64_t bytes) {
  const int64_t whole = n * bytes;
  int64_t done = moves ? whole : bytes;
  std::memcpy(to, from, static_cast<size_t>(done));
  for (int64_t more; done < whole; done += more)  // doubles the part that is done
    std::memcpy(to + done, to, static_cast<size_t>(more = std::min(done, whole - done)));
}

template <Isa isa>
void where(const Where&, KernelContext& c) {
  constexpr int64_t longest = 16384;  // elements between two looks at the clock
  Tensor& out = c.out(0);
  const Shape* shapes[] = {&c.in(0).shape(), &c.in(1).shape(), &c.in(2).shape()};
  const BroadcastRows rows(c, out.shape(), shapes);
  const auto bytes = static_cast<int64_t>(cpu::element_bytes(out));
  const auto* condition = static_cast<const uint8_t*>(c.in(0).data());
  const auto *x = static_cast<const char*>(c.in(1).data()), *y = static_cast<const char*>(c.in(2).data());
  auto* to = static_cast<char*>(out.data());
  const int64_t x_step = rows.step(1), y_step = rows.step(2);
  const cpu::ChooseRow choose =
      cpu::choose_kernels(isa).rows[std::countr_zero(static_cast<uint64_t>(bytes))][x_step != 0][y_step != 0];
  const auto part = [&](int64_t at, const int64_t* from, int64_t first, int64_t n) {
    const char *row_x = x + (from[1] + first * x_step) * bytes,
               *row_y = y + (from[2] + first * y_step) * bytes;
    char* row = to + (at + first) * bytes;
    if (rows.step(0) != 0)
      choose(condition + from[0] + first, row_x, row_y, row, n);
    else if (condition[from[0]])
      repeat_row(row_x, x_step != 0, row, n, bytes);
    else
      repeat_row(row_y, y_step != 0, row, n, bytes);
  };
  c.parallel(out.size(), longest, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    rows.each(begin, end, [&](int64_t at, const int64_t* from, int64_t n) {
      for (int64_t first = 0; first < n; first += longest) {
        const int64_t length = std::min(longest, n - first);
        part(at, from, first, length);
        poll.did(length);
      }
    });
  });
}

std::optional<Pointwise> describe(const Where& op, const KernelQuery& r) {
  if (!cpu::refuse_unless_float32_or_bool(r)) return Pointwise::ternary(TernaryOp::choose);
  const DataType type = r.inputs[1].type;
  if (!supports(op, r).accepted || !cpu::casts(type)) return std::nullopt;
  return Pointwise::choose(type);
}

}  // namespace

void cpu_where(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa> {
    k.add<Where>({.op = "Where", .name = cpu::kernel_name("where", isa), .isa = isa},
                 {.run = where<isa>, .supports = supports});
  });
  k.pointwise<Where>("Where", describe);
}

}  // namespace lathe
