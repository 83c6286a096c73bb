// Gemm on the matrix micro-kernels: one kernel for constant weights, packed when the engine is built, one for
// other floats, and one for doubles.
#include "ops/gemm/gemm.h"

#include "cpu/gemm.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::Operand;
using cpu::Products;

Operand operand(const float* data, int64_t columns, bool transposed) {
  return transposed ? Operand{data, 1, columns} : Operand{data, columns, 1};
}

Products product(const Gemm& op, const Shape& a, const Shape& b) {
  Products p;
  p.m = a[op.trans_a ? 1 : 0];
  p.k = a[op.trans_a ? 0 : 1];
  p.n = b[op.trans_b ? 0 : 1];
  p.a = operand(nullptr, a[1], op.trans_a);
  p.b = operand(nullptr, b[1], op.trans_b);
  p.alpha = op.alpha;
  return p;
}

Support supports_constant(const Gemm&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (!r.inputs[1].constant) return Support::no("B is not a constant");
  if (r.inputs[1].constant->rank() != 2) return Support::no("B is not a matrix");
  return Support::yes();
}
Support supports_variable(const Gemm&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (r.inputs[1].constant) return Support::no("B is a constant, better packed once");
  return Support::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const Gemm& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& b = *r.inputs[1].constant;
  return PackedForm{
      b.type(),
      {cpu::packed_b_size(cpu::gemm_kernels(isa), b.dim(op.trans_b ? 1 : 0), b.dim(op.trans_b ? 0 : 1))}};
}

template <Isa isa>
void pack(const Gemm& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& b = *r.inputs[1].constant;
  const Operand layout = operand(nullptr, b.dim(1), op.trans_b);
  cpu::pack_whole_b(cpu::gemm_kernels(isa), to.type(), to.data(), b.data(), layout.row, layout.column,
                    b.dim(op.trans_b ? 1 : 0), b.dim(op.trans_b ? 0 : 1), workers);
}

template <Isa isa, bool constant>
size_t workspace(const Gemm& op, std::span<const Shape> inputs, int) {
  static constexpr float somewhere = 0;
  Products p = product(op, inputs[0], inputs[1]);
  if (constant) p.packed_b = &somewhere;
  return cpu::multiply_workspace(cpu::gemm_kernels(isa), p);
}

cpu::Start start(const Gemm& op, const KernelContext& c) {
  if (c.inputs() < 3 || op.beta == 0) return {};
  const Value& given = c.value(2);
  if (given.empty()) return {};
  const Shape& s = given.tensor().shape();
  const int64_t columns = s.empty() ? 1 : s.back(), rows = s.size() < 2 ? 1 : s[0];
  return {.data = cpu::floats(given.tensor()),
          .row = rows == 1 ? 0 : columns,
          .column = columns == 1 ? 0 : 1,
          .scale = op.beta};
}

template <Isa isa, bool constant>
void run(const Gemm& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, c.strict());
  if (const Tensor& a = c.in(0); constant && a.dim(0) == 1 && !op.trans_a && op.alpha == 1) {
    const Tensor& b = *c.packed(1);
    Tensor& y = c.out(0);
    return cpu::multiply(
        g,
        {y.dim(1), a.dim(1), cpu::floats(a), b.data(), b.type(), cpu::floats(y), start(op, c), c.epilogue()},
        c);
  }
  Products p = product(op, c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  if (constant)
    p.packed_b = c.packed(1)->data(), p.packed_type = c.packed(1)->type();
  else
    p.b.data = cpu::floats(c.in(1));
  p.start = start(op, c);
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply(g, p, c.workspace(cpu::multiply_workspace(g, p)), c);
}

Support supports_doubles(const Gemm&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, Types<double>{});
}
template <Isa isa>
size_t doubles_workspace(const Gemm& op, std::span<const Shape> inputs, int) {
  return cpu::multiply_doubles_workspace(isa, product(op, inputs[0], inputs[1]));
}
template <Isa isa>
void run_doubles(const Gemm& op, KernelContext& c) {
  cpu::DoubleProducts p{.sizes = product(op, c.in(0).shape(), c.in(1).shape()),
                        .a = c.in(0).as<double>().data(),
                        .b = c.in(1).as<double>().data(),
                        .c = c.out(0).as<double>().data()};
  p.sizes.start = start(op, c);
  if (p.sizes.start.data) p.start = c.in(2).as<double>().data();
  cpu::multiply(isa, p, c.workspace(cpu::multiply_doubles_workspace(isa, p.sizes)), c);
}

/// Exponent-packed floats take seven eighths of their bytes.
Support supports_exponent_packed(const Gemm& op, const KernelQuery& r) {
  if (Support v = supports_constant(op, r); !v.accepted) return v;
  if (r.inputs[1].type != DataType::float32) return Support::no("only weights of float32 are made shorter");
  if (op.trans_a || op.alpha != 1) return Support::no("A is transposed or scaled");
  return Support::yes();
}
Support prefer_exponent_packed(const Gemm& op, const KernelQuery& r) {
  const Tensor& b = *r.inputs[1].constant;
  const auto m = cpu::likely_rows(r);
  if (!m) return Support::no("the number of rows is not known");
  return cpu::prefer_exponent_packed(r, *m, b.dim(op.trans_b ? 1 : 0), b.dim(op.trans_b ? 0 : 1));
}
template <Isa isa>
std::optional<PackedForm> exponent_packed_form(const Gemm& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& b = *r.inputs[1].constant;
  const auto size = cpu::exponent_packed_size(isa, cpu::ExponentPackedKind::floats, b.dim(op.trans_b ? 1 : 0),
                                              b.dim(op.trans_b ? 0 : 1));
  return size ? std::optional(PackedForm{DataType::uint8, {*size}}) : std::nullopt;
}
template <Isa isa>
bool pack_exponents(const Gemm& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& b = *r.inputs[1].constant;
  return cpu::pack_exponents(isa, static_cast<std::byte*>(to.data()),
                             operand(cpu::floats(b), b.dim(1), op.trans_b), b.dim(op.trans_b ? 1 : 0),
                             b.dim(op.trans_b ? 0 : 1), workers);
}
cpu::ExponentPackedProduct exponent_packed_product(const Gemm& op, const Shape& a, const Shape& b) {
  const Products p = product(op, a, b);
  return {.m = p.m, .n = p.n, .k = p.k};
}
template <Isa isa>
size_t exponent_packed_workspace(const Gemm& op, std::span<const Shape> inputs, int) {
  return cpu::multiply_workspace(isa, exponent_packed_product(op, inputs[0], inputs[1]));
}
template <Isa isa>
void run_exponent_packed(const Gemm& op, KernelContext& c) {
  cpu::ExponentPackedProduct p = exponent_packed_product(op, c.in(0).shape(), c.in(1).shape());
  p.start = start(op, c);
  cpu::multiply_operands(isa, p, c);
}

/// Strassen–Winograd packs B in its own type and is for many rows.
Support supports_strassen(const Gemm& op, const KernelQuery& r) {
  if (Support v = supports_constant(op, r); !v.accepted) return v;
  if (op.trans_a) return Support::no("A is transposed");
  const Tensor& b = *r.inputs[1].constant;
  return cpu::supports_strassen(r, b.type(), b.dim(op.trans_b ? 1 : 0));
}
Support prefer_strassen(const Gemm& op, const KernelQuery& r) {
  const Tensor& b = *r.inputs[1].constant;
  return cpu::prefer_strassen(r, cpu::likely_rows(r), b.dim(op.trans_b ? 0 : 1));
}
template <Isa isa>
std::optional<PackedForm> strassen_form(const Gemm& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& b = *r.inputs[1].constant;
  return PackedForm{r.inputs[1].type,
                    {cpu::strassen_size(isa, b.dim(op.trans_b ? 1 : 0), b.dim(op.trans_b ? 0 : 1))}};
}
template <Isa isa>
void pack_strassen(const Gemm& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& b = *r.inputs[1].constant;
  const int64_t row = op.trans_b ? 1 : b.dim(1), column = op.trans_b ? b.dim(1) : 1;
  cpu::pack_strassen(isa, to.type(), to.data(), b.data(), row, column, b.dim(op.trans_b ? 1 : 0),
                     b.dim(op.trans_b ? 0 : 1), workers);
}
template <Isa isa>
size_t strassen_workspace(const Gemm& op, std::span<const Shape> inputs, int threads) {
  static constexpr float somewhere = 0;
  Products p = product(op, inputs[0], inputs[1]);
  p.packed_b = &somewhere;
  return cpu::strassen_workspace(cpu::gemm_kernels(isa), p, threads);
}
template <Isa isa>
void run_strassen(const Gemm& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, c.strict());
  Products p = product(op, c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  p.packed_b = c.packed(1)->data(), p.packed_type = c.packed(1)->type();
  p.start = start(op, c);
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply_strassen(g, p, c.workspace(cpu::strassen_workspace(g, p, c.threads())), c);
}

}  // namespace

void cpu_gemm(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Gemm>({.op = "Gemm",
                 .name = cpu::kernel_name("gemm.constant", isa),
                 .isa = isa,
                 .fuses_epilogue = true,
                 .any_alignment = 1,
                 .strict = cpu::strict_products},
                {.run = run<isa, true>,
                 .supports = supports_constant,
                 .packed_form = packed_form<isa>,
                 .pack = pack<isa>,
                 .workspace = workspace<isa, true>});
    k.add<Gemm>({.op = "Gemm",
                 .name = cpu::kernel_name("gemm.exponent_packed", isa),
                 .isa = isa,
                 .priority = 1,
                 .fuses_epilogue = true,
                 .any_alignment = 1,
                 .strict = cpu::strict_products},
                {.run = run_exponent_packed<isa>,
                 .supports = supports_exponent_packed,
                 .is_preferred = prefer_exponent_packed,
                 .packed_form = packed_form<isa>,
                 .pack = pack<isa>,
                 .compact_form = exponent_packed_form<isa>,
                 .pack_compact = pack_exponents<isa>,
                 .workspace = exponent_packed_workspace<isa>});
    k.add<Gemm>({.op = "Gemm",
                 .name = cpu::kernel_name("gemm.strassen", isa),
                 .isa = isa,
                 .priority = 1,
                 .fuses_epilogue = true,
                 .any_alignment = 1,
                 .strict = cpu::strict_products},
                {.run = run_strassen<isa>,
                 .supports = supports_strassen,
                 .is_preferred = prefer_strassen,
                 .packed_form = strassen_form<isa>,
                 .pack = pack_strassen<isa>,
                 .workspace = strassen_workspace<isa>});
    k.add<Gemm>({.op = "Gemm",
                 .name = cpu::kernel_name("gemm", isa),
                 .isa = isa,
                 .fuses_epilogue = true,
                 .strict = cpu::strict_products},
                {.run = run<isa, false>, .supports = supports_variable, .workspace = workspace<isa, false>});
    k.add<Gemm>({.op = "Gemm", .name = cpu::kernel_name("gemm.doubles", isa), .isa = isa},
                {.run = run_doubles<isa>, .supports = supports_doubles, .workspace = doubles_workspace<isa>});
  });
}

}  // namespace lathe
