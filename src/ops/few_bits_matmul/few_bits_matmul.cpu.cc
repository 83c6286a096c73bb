#include "ops/few_bits_matmul/few_bits_matmul.h"

#include "cpu/ask.h"
#include "cpu/few_bits.h"

namespace lathe {
namespace {

bool is_whole_number(DataType t) {
  const int bits = bits_of(t);
  return is_integer(t) && (bits == 2 || bits == 4 || bits == 8);
}

/// Which way the weights, and what belongs to their blocks, lie.
struct Matrix {
  Matrix(const FewBitsMatMul& op, const Shape& s)
      : rows(s[op.transposed ? 1 : 0]),
        columns(s[op.transposed ? 0 : 1]),
        row(op.transposed ? 1 : s[1]),
        column(op.transposed ? s[1] : 1) {}
  int64_t rows, columns, row, column;
};

cpu::BitMatrix bits(const FewBitsMatMul& op, const Tensor& t) {
  const Matrix m(op, t.shape());
  return {t.data(), bits_of(t.type()), is_signed_integer(t.type()), m.row, m.column};
}

/// The product, without the addresses of what it works on.
cpu::FewBitsProduct product(const FewBitsMatMul& op, const Shape& x, const Shape& w, DataType type) {
  const Matrix weights(op, w);
  cpu::FewBitsProduct p;
  p.m = 1;
  for (size_t axis = 0; axis + 1 < x.size(); ++axis) p.m *= x[axis];
  p.w = {.k = weights.rows,
         .n = weights.columns,
         .block = op.block_size,
         .bits = cpu::packed_bits(bits_of(type)),
         .zero = is_signed_integer(type) ? 1 << (bits_of(type) - 1) : 0};
  return p;
}

Verdict ask(const FewBitsMatMul&, const KernelRequest& r) {
  if (r.inputs.size() < 3 || r.inputs[0].type != DataType::float32 || r.outputs[0].type != DataType::float32)
    return Verdict::no("only float32");
  for (size_t i = 1; i < r.inputs.size(); ++i)
    if (r.inputs[i].present && (!r.inputs[i].constant || r.inputs[i].constant->rank() != 2))
      return Verdict::no("weights that are no constant matrices");
  if (!is_whole_number(r.inputs[1].type))
    return Verdict::no("not for " + std::string(name_of(r.inputs[1].type)));
  if (r.inputs[2].type != DataType::float32 && !cpu::is_half(r.inputs[2].type))
    return Verdict::no("scales of " + std::string(name_of(r.inputs[2].type)));
  if (cpu::has_input(r, 3) && r.inputs[3].type != r.inputs[1].type)
    return Verdict::no("a zero point of another type");
  if (r.inputs[1].constant->size() == 0) return Verdict::no("no weights");
  return Verdict::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const FewBitsMatMul& op, const KernelRequest& r, size_t i) {
  if (i == 0) return std::nullopt;
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(op, t.shape());
  if (i == 1)
    return PackedForm{DataType::uint8, {cpu::packed_numbers_size(isa, m.rows, m.columns, bits_of(t.type()))}};
  return PackedForm{i == 2 ? DataType::float32 : DataType::uint8,
                    {cpu::packed_scales_size(isa, m.rows, m.columns)}};
}

template <Isa isa>
void pack(const FewBitsMatMul& op, const KernelRequest& r, size_t i, Tensor& to, Workers& workers) {
  const Tensor& t = *r.inputs[i].constant;
  const Matrix m(op, t.shape());
  if (i == 2)
    return cpu::pack_scales(isa, cpu::floats(to), t.type(), t.data(), m.row, m.column, m.rows, m.columns,
                            workers);
  (i == 1 ? cpu::pack_numbers : cpu::pack_zeros)(isa, to.as<uint8_t>().data(), bits(op, t), m.rows, m.columns,
                                                 workers);
}

/// Enough for any way to go about it: shapes do not tell whether a run is strict.
template <Isa isa>
size_t workspace(const FewBitsMatMul& op, std::span<const Shape> inputs, int) {
  const auto p = product(op, inputs[0], inputs[1], DataType::uint8);
  return std::max(cpu::multiply_workspace(isa, p, false), cpu::multiply_workspace(isa, p, true));
}

template <Isa isa>
void run(const FewBitsMatMul& op, KernelContext& c) {
  cpu::FewBitsProduct p = product(op, c.in(0).shape(), c.in(1).shape(), c.in(1).type());
  p.w.numbers = c.packed(1)->as<uint8_t>().data();
  p.w.scales = cpu::floats(*c.packed(2));
  if (cpu::has_input(c, 3)) p.w.zeros = c.packed(3)->as<uint8_t>().data();
  p.a = cpu::floats(c.in(0));
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply(isa, p, c.strict(), c.workspace(cpu::multiply_workspace(isa, p, c.strict())), c);
}

}  // namespace

void cpu_few_bits_matmul(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<FewBitsMatMul>({.op = "FewBitsMatMul",
                          .domain = "lathe",
                          .name = cpu::kernel_name("few_bits_matmul", isa),
                          .isa = isa,
                          .finishes = true,
                          .any_alignment = 1,
                          .strict = cpu::strict_products},
                         {.run = run<isa>,
                          .ask = ask,
                          .packed_form = packed_form<isa>,
                          .pack = pack<isa>,
                          .workspace = workspace<isa>});
  });
}

}  // namespace lathe
