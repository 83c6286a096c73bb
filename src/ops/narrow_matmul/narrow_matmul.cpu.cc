#include "ops/narrow_matmul/narrow_matmul.h"

#include <algorithm>

#include "cpu/ask.h"
#include "cpu/gemm.h"
#include "cpu/short_floats.h"

namespace lathe {
namespace {

/// Elements lie as pairs, k counts them.
struct Weights {
  Weights(const NarrowMatMul& op, const Shape& w)
      : pairs(w[op.trans_b ? 1 : 0] / 2),
        n(w[op.trans_b ? 0 : 1]),
        row(op.trans_b ? 1 : w[1]),
        column(op.trans_b ? w[1] : 1) {}
  int64_t pairs, n, row, column;

  cpu::PairOperand in(const Tensor& w) const { return {w.as<BFloat16>().data(), row, column}; }
};

int64_t rows_of(const Shape& x) {
  int64_t m = 1;
  for (size_t axis = 0; axis + 1 < x.size(); ++axis) m *= x[axis];
  return m;
}

cpu::Products product(const NarrowMatMul& op, const Shape& x, const Shape& w) {
  const Weights weights(op, w);
  cpu::Products p{.m = rows_of(x), .n = weights.n, .k = weights.pairs};
  p.a = {nullptr, 2 * p.k, 2};
  return p;
}

Verdict ask(const NarrowMatMul& op, const KernelRequest& r) {
  if (r.inputs.size() < 2) return Verdict::no("no weights");
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w || w->type() != DataType::bfloat16 || r.inputs[1].type != DataType::bfloat16 || w->rank() != 2)
    return Verdict::no("W is not a constant matrix of bfloat16");
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (w->dim(op.trans_b ? 1 : 0) % 2 != 0) return Verdict::no("an odd number of terms");
  return Verdict::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const NarrowMatMul& op, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Weights w(op, r.inputs[1].constant->shape());
  return PackedForm{DataType::bfloat16, {2 * cpu::packed_b_size(cpu::pair_kernels(isa), w.pairs, w.n)}};
}

template <Isa isa>
void pack(const NarrowMatMul& op, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& from = *r.inputs[1].constant;
  const Weights w(op, from.shape());
  cpu::pack_pairs(cpu::pair_kernels(isa), to.as<BFloat16>().data(), w.in(from), w.pairs, w.n, workers);
}

template <Isa isa>
size_t workspace(const NarrowMatMul& op, std::span<const Shape> inputs, int) {
  static constexpr float somewhere = 0;
  cpu::Products p = product(op, inputs[0], inputs[1]);
  p.packed_b = &somewhere;
  const auto of = [&](bool strict) { return cpu::multiply_workspace(cpu::pair_kernels(isa, strict), p); };
  return std::max(of(false), of(true));
}

template <Isa isa>
void run(const NarrowMatMul& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::pair_kernels(isa, c.strict());
  cpu::Products p = product(op, c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  p.packed_b = c.packed(1)->data();
  p.c = cpu::floats(c.out(0));
  if (const float* bias = cpu::floats(c, 2)) p.start = {bias, 0, 1, 1};
  p.epilogue = c.epilogue();
  cpu::multiply(g, p, c.workspace(cpu::multiply_workspace(g, p)), c);
}

/// Of weights packed in three quarters of their bytes.
Verdict prefer_short(const NarrowMatMul& op, const KernelRequest& r) {
  const Weights w(op, r.inputs[1].constant->shape());
  const auto m = cpu::likely_rows(r);
  return m ? cpu::prefer_short(r, *m, w.pairs, w.n) : Verdict::no("the number of rows is not known");
}
template <Isa isa>
std::optional<PackedForm> short_form(const NarrowMatMul& op, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Weights w(op, r.inputs[1].constant->shape());
  const auto size = cpu::short_size(isa, cpu::ShortKind::pairs, w.pairs, w.n);
  return size ? std::optional(PackedForm{DataType::uint8, {*size}}) : std::nullopt;
}
template <Isa isa>
bool pack_short(const NarrowMatMul& op, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& from = *r.inputs[1].constant;
  const Weights w(op, from.shape());
  return cpu::pack_short(isa, static_cast<std::byte*>(to.data()), w.in(from), w.pairs, w.n, workers);
}
cpu::ShortProduct short_product(const NarrowMatMul& op, const Shape& x, const Shape& w) {
  const Weights weights(op, w);
  return {.kind = cpu::ShortKind::pairs, .m = rows_of(x), .n = weights.n, .k = weights.pairs};
}
template <Isa isa>
size_t short_workspace(const NarrowMatMul& op, std::span<const Shape> inputs, int) {
  return cpu::multiply_workspace(isa, short_product(op, inputs[0], inputs[1]));
}
template <Isa isa>
void run_short(const NarrowMatMul& op, KernelContext& c) {
  cpu::ShortProduct p = short_product(op, c.in(0).shape(), c.in(1).shape());
  if (const float* bias = cpu::floats(c, 2)) p.start = {bias, 0, 1, 1};
  cpu::multiply_operands(isa, p, c);
}

}  // namespace

void cpu_narrow_matmul(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<NarrowMatMul>({.op = "NarrowMatMul",
                         .domain = "lathe",
                         .name = cpu::kernel_name("narrow_matmul", isa),
                         .isa = isa,
                         .finishes = true,
                         .strict = cpu::strict_products},
                        {.run = run<isa>,
                         .ask = ask,
                         .packed_form = packed_form<isa>,
                         .pack = pack<isa>,
                         .workspace = workspace<isa>});
    k.add<NarrowMatMul>({.op = "NarrowMatMul",
                         .domain = "lathe",
                         .name = cpu::kernel_name("narrow_matmul.short", isa),
                         .isa = isa,
                         .priority = 1,
                         .finishes = true,
                         .strict = cpu::strict_products},
                        {.run = run_short<isa>,
                         .ask = ask,
                         .prefer = prefer_short,
                         .packed_form = packed_form<isa>,
                         .pack = pack<isa>,
                         .compact_form = short_form<isa>,
                         .pack_compact = pack_short<isa>,
                         .workspace = short_workspace<isa>});
  });
}

}  // namespace lathe
