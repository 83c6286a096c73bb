#include "ops/low_bit_matmul/low_bit_matmul.h"

#include "cpu/quantized.h"
#include "cpu/support.h"

namespace lathe {
namespace {

/// The sizes and strides of the weights, or of the parameters of their blocks.
struct Matrix {
  Matrix(const LowBitMatMul& op, const Shape& shape) {
    const Shape s = op.matrix(shape);
    rows = s[op.transposed ? 1 : 0];
    columns = s[op.transposed ? 0 : 1];
    row = op.transposed ? 1 : s[1];
    column = op.transposed ? s[1] : 1;
  }
  int64_t rows, columns, row, column;
};

cpu::BitMatrix bits(const LowBitMatMul& op, const Tensor& t) {
  const Matrix m(op, t.shape());
  return {t.data(), bits_of(t.type()), is_signed_integer(t.type()), m.row, m.column};
}

/// The product without its addresses.
cpu::LowBitProduct product(const LowBitMatMul& op, const Shape& x, const Shape& w, DataType type,
                           bool has_minimums) {
  const Matrix weights(op, w);
  cpu::LowBitProduct p;
  p.m = 1;
  for (size_t axis = 0; axis + 1 < x.size(); ++axis) p.m *= x[axis];
  p.w = {.k = weights.rows,
         .n = weights.columns,
         .block = op.block_size,
         .bits = cpu::packed_bits(bits_of(type)),
         .zero = is_signed_integer(type) ? 1 << (bits_of(type) - 1) : 0,
         .has_minimums = has_minimums};
  return p;
}

Support supports(const LowBitMatMul& op, const KernelQuery& r) {
  if (r.inputs.size() < 3 || r.inputs[0].type != DataType::float32 || r.outputs[0].type != DataType::float32)
    return Support::no("only float32");
  for (size_t i = 1; i < r.inputs.size(); ++i)
    if (r.inputs[i].present &&
        (!r.inputs[i].constant || op.matrix(r.inputs[i].constant->shape()).size() != 2))
      return Support::no("weights that are no constant matrices");
  if (!is_low_bit(r.inputs[1].type)) return Support::no("not for " + std::string(name_of(r.inputs[1].type)));
  for (size_t i : {2u, 4u})
    if (cpu::has_input(r, i) && r.inputs[i].type != DataType::float32 && !cpu::is_f16(r.inputs[i].type))
      return Support::no("scales or minimums of " + std::string(name_of(r.inputs[i].type)));
  if (cpu::has_input(r, 3) && r.inputs[3].type != r.inputs[1].type)
    return Support::no("a zero point of another type");
  if (r.inputs[1].constant->size() == 0) return Support::no("no weights");
  return Support::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const LowBitMatMul& op, const KernelQuery& r, size_t i) {
  if (i == 0) return std::nullopt;
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(op, t.shape());
  if (i == 1)
    return PackedForm{DataType::uint8, {cpu::packed_numbers_size(isa, m.rows, m.columns, bits_of(t.type()))}};
  return PackedForm{i == 3 ? DataType::uint8 : DataType::float32,
                    {cpu::packed_scales_size(isa, m.rows, m.columns)}};
}

template <Isa isa>
void pack(const LowBitMatMul& op, const KernelQuery& r, size_t i, Tensor& to, Workers& workers) {
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(op, t.shape());
  if (i == 2 || i == 4)
    return cpu::pack_scales(isa, cpu::floats(to), t.type(), t.data(), m.row, m.column, m.rows, m.columns,
                            workers);
  (i == 1 ? cpu::pack_numbers : cpu::pack_zeros)(isa, to.as<uint8_t>().data(), bits(op, t), m.rows, m.columns,
                                                 workers);
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
  p.w.numbers = c.packed(1)->as<uint8_t>().data();
  p.w.scales = cpu::floats(*c.packed(2));
  if (cpu::has_input(c, 3)) p.w.zeros = c.packed(3)->as<uint8_t>().data();
  if (p.w.has_minimums) p.w.minimums = cpu::floats(*c.packed(4));
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
