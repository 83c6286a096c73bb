#include "ops/bf16_matmul/bf16_matmul.h"

#include <algorithm>

#include "cpu/gemm.h"
#include "cpu/support.h"

namespace lathe {
namespace {

/// Elements are stored as pairs, which k counts.
struct Weights {
  Weights(const Bf16MatMul& op, const Shape& w)
      : pairs(w[op.trans_b ? 1 : 0] / 2),
        n(w[op.trans_b ? 0 : 1]),
        row(op.trans_b ? 1 : w[1]),
        column(op.trans_b ? w[1] : 1) {}
  int64_t pairs, n, row, column;

  cpu::Bf16PairOperand in(const Tensor& w) const { return {w.as<BFloat16>().data(), row, column}; }
};

int64_t rows_of(const Shape& x) {
  int64_t m = 1;
  for (size_t axis = 0; axis + 1 < x.size(); ++axis) m *= x[axis];
  return m;
}

cpu::Products product(const Bf16MatMul& op, const Shape& x, const Shape& w) {
  const Weights weights(op, w);
  cpu::Products p{.m = rows_of(x), .n = weights.n, .k = weights.pairs};
  p.a = {nullptr, 2 * p.k, 2};
  return p;
}

Support supports(const Bf16MatMul& op, const KernelQuery& r) {
  if (r.inputs.size() < 2) return Support::no("no weights");
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w || w->type() != DataType::bfloat16 || r.inputs[1].type != DataType::bfloat16 || w->rank() != 2)
    return Support::no("W is not a constant matrix of bfloat16");
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (w->dim(op.trans_b ? 1 : 0) % 2 != 0) return Support::no("an odd number of terms");
  return Support::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const Bf16MatMul& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Weights w(op, r.inputs[1].constant->shape());
  return PackedForm{DataType::bfloat16, {2 * cpu::packed_b_size(cpu::bf16_dot2_kernels(isa), w.pairs, w.n)}};
}

template <Isa isa>
void pack(const Bf16MatMul& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& from = *r.inputs[1].constant;
  const Weights w(op, from.shape());
  cpu::pack_bf16_pairs(cpu::bf16_dot2_kernels(isa), to.as<BFloat16>().data(), w.in(from), w.pairs, w.n,
                       workers);
}

template <Isa isa>
size_t workspace(const Bf16MatMul& op, std::span<const Shape> inputs, int) {
  static constexpr float somewhere = 0;
  cpu::Products p = product(op, inputs[0], inputs[1]);
  p.packed_b = &somewhere;
  const auto of = [&](bool strict) {
    return cpu::multiply_workspace(cpu::bf16_dot2_kernels(isa, strict), p);
  };
  return std::max(of(false), of(true));
}

template <Isa isa>
void run(const Bf16MatMul& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::bf16_dot2_kernels(isa, c.strict());
  cpu::Products p = product(op, c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  p.packed_b = c.packed(1)->data();
  p.c = cpu::floats(c.out(0));
  if (const float* bias = cpu::floats(c, 2)) p.start = {bias, 0, 1, 1};
  p.epilogue = c.epilogue();
  cpu::multiply(g, p, c.workspace(cpu::multiply_workspace(g, p)), c);
}

/// Exponent-packed weights take three quarters of their bytes.
Support prefer_exponent_packed(const Bf16MatMul& op, const KernelQuery& r) {
  const Weights w(op, r.inputs[1].constant->shape());
  const auto m = cpu::likely_rows(r);
  return m ? cpu::prefer_exponent_packed(r, *m, w.pairs, w.n)
           : Support::no("the number of rows is not known");
}
template <Isa isa>
std::optional<PackedForm> exponent_packed_form(const Bf16MatMul& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Weights w(op, r.inputs[1].constant->shape());
  const auto size = cpu::exponent_packed_size(isa, cpu::ExponentPackedKind::bf16_pairs, w.pairs, w.n);
  return size ? std::optional(PackedForm{DataType::uint8, {*size}}) : std::nullopt;
}
template <Isa isa>
bool pack_exponents(const Bf16MatMul& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& from = *r.inputs[1].constant;
  const Weights w(op, from.shape());
  return cpu::pack_exponents(isa, static_cast<std::byte*>(to.data()), w.in(from), w.pairs, w.n, workers);
}
cpu::ExponentPackedProduct exponent_packed_product(const Bf16MatMul& op, const Shape& x, const Shape& w) {
  const Weights weights(op, w);
  return {.kind = cpu::ExponentPackedKind::bf16_pairs, .m = rows_of(x), .n = weights.n, .k = weights.pairs};
}
template <Isa isa>
size_t exponent_packed_workspace(const Bf16MatMul& op, std::span<const Shape> inputs, int) {
  return cpu::multiply_workspace(isa, exponent_packed_product(op, inputs[0], inputs[1]));
}
template <Isa isa>
void run_exponent_packed(const Bf16MatMul& op, KernelContext& c) {
  cpu::ExponentPackedProduct p = exponent_packed_product(op, c.in(0).shape(), c.in(1).shape());
  if (const float* bias = cpu::floats(c, 2)) p.start = {bias, 0, 1, 1};
  cpu::multiply_operands(isa, p, c);
}

}  // namespace

void cpu_bf16_matmul(KernelCatalog& k) {
  k.replaces("Bf16MatMul", {"Gemm", "MatMul"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Bf16MatMul>({.op = "Bf16MatMul",
                       .domain = "lathe",
                       .name = cpu::kernel_name("bf16_matmul", isa),
                       .isa = isa,
                       .fuses_epilogue = true,
                       .strict = cpu::strict_products},
                      {.run = run<isa>,
                       .supports = supports,
                       .packed_form = packed_form<isa>,
                       .pack = pack<isa>,
                       .workspace = workspace<isa>});
    k.add<Bf16MatMul>({.op = "Bf16MatMul",
                       .domain = "lathe",
                       .name = cpu::kernel_name("bf16_matmul.exponent_packed", isa),
                       .isa = isa,
                       .priority = 1,
                       .fuses_epilogue = true,
                       .strict = cpu::strict_products},
                      {.run = run_exponent_packed<isa>,
                       .supports = supports,
                       .is_preferred = prefer_exponent_packed,
                       .packed_form = packed_form<isa>,
                       .pack = pack<isa>,
                       .compact_form = exponent_packed_form<isa>,
                       .pack_compact = pack_exponents<isa>,
                       .workspace = exponent_packed_workspace<isa>});
  });
}

}  // namespace lathe
