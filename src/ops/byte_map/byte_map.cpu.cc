#include "ops/byte_map/byte_map.h"

#include <algorithm>

#include "cpu/ask.h"
#include "cpu/bytes_rows.h"

namespace lathe {
namespace {

/// Bytes that are worth a piece of work: a microsecond or two.
constexpr int64_t bytes_a_piece = 1 << 15;

template <Isa isa>
void map(const ByteMap&, KernelContext& c) {
  const auto* const x = static_cast<const uint8_t*>(c.in(0).data());
  const auto* const table = static_cast<const uint8_t*>(c.in(1).data());
  auto* const y = static_cast<uint8_t*>(c.out(0).data());
  c.parallel(c.in(0).size(), bytes_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += bytes_a_piece) {
      c.poll();
      cpu::byte_row_kernels(isa).map(table, x + i, y + i, std::min(bytes_a_piece, end - i));
    }
  });
}

Verdict ask(const ByteMap&, const KernelRequest& r) {
  if (!cpu::is_eight_bits(r.inputs[0].type) || !cpu::is_eight_bits(r.outputs[0].type))
    return Verdict::no("only int8 and uint8");
  return r.inputs[1].type == DataType::uint8 ? Verdict::yes() : Verdict::no("only a table of uint8");
}

}  // namespace

void cpu_byte_map(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<ByteMap>(
        {.op = "ByteMap", .domain = "lathe", .name = cpu::kernel_name("byte_map", isa), .isa = isa},
        {.run = map<isa>, .ask = ask});
  });
}

}  // namespace lathe
