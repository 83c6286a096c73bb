#include "ops/lookup_table/lookup_table.h"

#include <algorithm>

#include "cpu/quantized.h"
#include "cpu/support.h"

namespace lathe {
namespace {

/// Bytes that are worth a piece of work: a microsecond or two.
constexpr int64_t bytes_a_piece = 1 << 15;

template <Isa isa>
void map(const LookupTable&, KernelContext& c) {
  const auto* const x = static_cast<const uint8_t*>(c.in(0).data());
  const auto* const table = static_cast<const uint8_t*>(c.in(1).data());
  auto* const y = static_cast<uint8_t*>(c.out(0).data());
  c.parallel(c.in(0).size(), bytes_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += bytes_a_piece) {
      c.poll();
      cpu::int8_row_kernels(isa).map(table, x + i, y + i, std::min(bytes_a_piece, end - i));
    }
  });
}

Support supports(const LookupTable&, const KernelQuery& r) {
  if (!cpu::is_eight_bits(r.inputs[0].type) || !cpu::is_eight_bits(r.outputs[0].type))
    return Support::no("only int8 and uint8");
  return r.inputs[1].type == DataType::uint8 ? Support::yes() : Support::no("only a table of uint8");
}

}  // namespace

void cpu_lookup_table(KernelCatalog& k) {
  k.replaces("LookupTable", {"DequantizeLinear", "QuantizeLinear"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<LookupTable>(
        {.op = "LookupTable", .domain = "lathe", .name = cpu::kernel_name("lookup_table", isa), .isa = isa},
        {.run = map<isa>, .supports = supports});
  });
}

}  // namespace lathe
