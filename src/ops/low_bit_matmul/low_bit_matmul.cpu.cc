#include "ops/low_bit_matmul/low_bit_matmul.h"

#include "cpu/quantized.h"
#include "cpu/support.h"

namespace lathe {
namespace {

cpu::LowBitInputs inputs_of(const LowBitMatMul& op) {
  return {.numbers = 1, .scales = 2, .zeros = 3, .minimums = 4, .transposed = op.transposed};
}

/// The product without its addresses.
cpu::LowBitProduct product(const LowBitMatMul& op, const Shape& x, const Shape& w, DataType type,
                           bool has_minimums) {
  cpu::LowBitProduct p;
  p.m = 1;
  for (size_t axis = 0; axis + 1 < x.size(); ++axis) p.m *= x[axis];
  p.w = cpu::low_bit_weights(inputs_of(op), w, type, op.block_size, has_minimums);
  return p;
}

Support supports(const LowBitMatMul& op, const KernelQuery& r) {
  if (r.inputs[0].type != DataType::float32 || r.outputs[0].type != DataType::float32)
    return Support::no("only float32");
  return cpu::refuse_unless_low_bit(inputs_of(op), r).value_or(Support::yes());
}

template <Isa isa>
std::optional<PackedForm> packed_form(const LowBitMatMul& op, const KernelQuery& r, size_t i) {
  return cpu::packed_low_bit_form(isa, inputs_of(op), r, i);
}

template <Isa isa>
void pack(const LowBitMatMul& op, const KernelQuery& r, size_t i, Tensor& to, Workers& workers) {
  cpu::pack_low_bit(isa, inputs_of(op), r, i, to, workers);
}

/// Enough for every algorithm: shapes do not tell whether a run is strict.
template <Isa isa>
size_t workspace(const LowBitMatMul& op, std::span<const Shape> inputs, int threads) {
  const auto p = product(op, inputs[0], inputs[1], DataType::uint8, inputs.size() > 4);
  return std::max(cpu::multiply_workspace(isa, p, false, threads),
                  cpu::multiply_workspace(isa, p, true, threads));
}

template <Isa isa>
void run(const LowBitMatMul& op, KernelContext& c) {
  cpu::LowBitProduct p = product(op, c.in(0).shape(), c.in(1).shape(), c.in(1).type(), cpu::has_input(c, 4));
  cpu::set_packed(inputs_of(op), c, p.w);
  p.a = cpu::floats(c.in(0));
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply(isa, p, c.strict(), c.workspace(cpu::multiply_workspace(isa, p, c.strict(), c.threads())), c);
}

}  // namespace

void cpu_low_bit_matmul(KernelCatalog& k) {
  k.replaces("LowBitMatMul", {"Gemm", "MatMul"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<LowBitMatMul>({.op = "LowBitMatMul",
                         .domain = "lathe",
                         .name = cpu::kernel_name("low_bit_matmul", isa),
                         .isa = isa,
                         .fuses_epilogue = true,
                         .any_alignment = 1,
                         .strict = cpu::strict_products},
                        {.run = run<isa>,
                         .supports = supports,
                         .packed_form = packed_form<isa>,
                         .pack = pack<isa>,
                         .workspace = workspace<isa>});
  });
}

}  // namespace lathe
