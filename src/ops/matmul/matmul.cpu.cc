// MatMul on the matrix micro-kernels: one kernel for constant weights, packed when the engine is built, one
// for other floats, and one for doubles.
#include "ops/matmul/matmul.h"

#include "cpu/gemm.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::Products;

/// The products of a MatMul of these shapes, without their data.
Products products(Shape a, Shape b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Products p;
  p.m = a[a.size() - 2];
  p.k = a.back();
  p.n = b.back();
  p.a = {nullptr, p.k, 1};
  p.b = {nullptr, p.n, 1};
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  if (count_of(b) == 1) {
    // The same B for all: the rows of every A are rows of one.
    p.m *= count_of(a);
    return p;
  }
  p.a_matrix = p.m * p.k;
  p.b_matrix = p.k * p.n;
  const size_t rank = std::max(a.size(), b.size());
  p.batch.assign(rank, 1);
  for (auto [shape, step] : {std::pair{&a, &p.a_step}, std::pair{&b, &p.b_step}}) {
    step->assign(rank, 0);
    int64_t stride = 1;
    for (size_t i = 1; i <= shape->size(); ++i) {
      const int64_t size = (*shape)[shape->size() - i];
      if (size != 1) {
        p.batch[rank - i] = size;
        (*step)[rank - i] = stride;
      }
      stride *= size;
    }
  }
  return p;
}

Support supports_constant(const MatMul&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (!r.inputs[1].constant) return Support::no("B is not a constant");
  if (r.inputs[1].constant->rank() == 0) return Support::no("B is a single number");
  return Support::yes();
}
Support supports_variable(const MatMul&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (r.inputs[1].constant) return Support::no("B is a constant, better packed once");
  return Support::yes();
}

/// A constant B: one matrix, or many.
struct Matrices {
  explicit Matrices(const Tensor& b)
      : k(b.rank() == 1 ? b.size() : b.dim(b.rank() - 2)),
        n(b.rank() == 1 ? 1 : b.shape().back()),
        count(n * k == 0 ? 0 : b.size() / (n * k)) {}
  int64_t k, n, count;
};

template <Isa isa>
std::optional<PackedForm> packed_form(const MatMul&, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Matrices b(*r.inputs[1].constant);
  return PackedForm{r.inputs[1].type, {b.count * cpu::packed_b_size(cpu::gemm_kernels(isa), b.k, b.n)}};
}

template <Isa isa>
void pack(const MatMul&, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const Matrices b(*r.inputs[1].constant);
  const DataType type = to.type();
  const auto* const from = static_cast<const std::byte*>(r.inputs[1].constant->data());
  auto* const packed = static_cast<std::byte*>(to.data());
  const int64_t size = bits_of(type) / 8;
  for (int64_t i = 0; i < b.count; ++i)
    cpu::pack_whole_b(g, type, packed + i * cpu::packed_b_size(g, b.k, b.n) * size,
                      from + i * b.n * b.k * size, b.n, 1, b.k, b.n, workers);
}

template <Isa isa, bool constant>
size_t workspace(const MatMul&, std::span<const Shape> inputs, int) {
  static constexpr float somewhere = 0;
  Products p = products(inputs[0], inputs[1]);
  if (constant) p.packed_b = &somewhere;
  return cpu::multiply_workspace(cpu::gemm_kernels(isa), p);
}

template <Isa isa, bool constant>
void run(const MatMul&, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, c.strict());
  Products p = products(c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  if (constant)
    p.packed_b = c.packed(1)->data(), p.packed_type = c.packed(1)->type();
  else
    p.b.data = cpu::floats(c.in(1));
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply(g, p, c.workspace(cpu::multiply_workspace(g, p)), c);
}

Support supports_doubles(const MatMul&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, Types<double>{});
}
template <Isa isa>
size_t doubles_workspace(const MatMul&, std::span<const Shape> inputs, int) {
  return cpu::multiply_doubles_workspace(isa, products(inputs[0], inputs[1]));
}
template <Isa isa>
void run_doubles(const MatMul&, KernelContext& c) {
  const cpu::DoubleProducts p{.sizes = products(c.in(0).shape(), c.in(1).shape()),
                              .a = c.in(0).as<double>().data(),
                              .b = c.in(1).as<double>().data(),
                              .c = c.out(0).as<double>().data()};
  cpu::multiply(isa, p, c.workspace(cpu::multiply_doubles_workspace(isa, p.sizes)), c);
}

/// Exponent-packed floats, those of one constant matrix, take seven eighths of their bytes.
Support supports_exponent_packed(const MatMul& op, const KernelQuery& r) {
  if (Support v = supports_constant(op, r); !v.accepted) return v;
  if (r.inputs[1].type != DataType::float32) return Support::no("only weights of float32 are made shorter");
  const Tensor& b = *r.inputs[1].constant;
  if (b.rank() < 2 || Matrices(b).count != 1) return Support::no("B is not one matrix");
  return Support::yes();
}
Support prefer_exponent_packed(const MatMul&, const KernelQuery& r) {
  const Matrices b(*r.inputs[1].constant);
  const auto m = cpu::likely_rows(r);
  return m ? cpu::prefer_exponent_packed(r, *m, b.k, b.n) : Support::no("the number of rows is not known");
}
template <Isa isa>
std::optional<PackedForm> exponent_packed_form(const MatMul&, const KernelQuery& r, size_t i) {
  const Matrices b(*r.inputs[1].constant);
  const auto size =
      i == 1 ? cpu::exponent_packed_size(isa, cpu::ExponentPackedKind::floats, b.k, b.n) : std::nullopt;
  return size ? std::optional(PackedForm{DataType::uint8, {*size}}) : std::nullopt;
}
template <Isa isa>
bool pack_exponents(const MatMul&, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Matrices b(*r.inputs[1].constant);
  const cpu::Operand from{cpu::floats(*r.inputs[1].constant), b.n, 1};
  return cpu::pack_exponents(isa, static_cast<std::byte*>(to.data()), from, b.k, b.n, workers);
}
cpu::ExponentPackedProduct exponent_packed_product(const Shape& a, const Shape& b) {
  const Products p = products(a, b);
  return {.m = p.m, .n = p.n, .k = p.k};
}
template <Isa isa>
size_t exponent_packed_workspace(const MatMul&, std::span<const Shape> inputs, int) {
  return cpu::multiply_workspace(isa, exponent_packed_product(inputs[0], inputs[1]));
}
template <Isa isa>
void run_exponent_packed(const MatMul&, KernelContext& c) {
  cpu::multiply_operands(isa, exponent_packed_product(c.in(0).shape(), c.in(1).shape()), c);
}

/// Strassen–Winograd is for one constant matrix and many rows.
Support supports_strassen(const MatMul& op, const KernelQuery& r) {
  if (Support v = supports_constant(op, r); !v.accepted) return v;
  const Tensor& b = *r.inputs[1].constant;
  if (b.rank() < 2 || Matrices(b).count != 1) return Support::no("B is not one matrix");
  return cpu::supports_strassen(r, b.type(), Matrices(b).k);
}
Support prefer_strassen(const MatMul&, const KernelQuery& r) {
  const Matrices b(*r.inputs[1].constant);
  return cpu::prefer_strassen(r, cpu::likely_rows(r), b.n);
}
template <Isa isa>
std::optional<PackedForm> strassen_form(const MatMul&, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Matrices b(*r.inputs[1].constant);
  return PackedForm{r.inputs[1].type, {cpu::strassen_size(isa, b.k, b.n)}};
}
template <Isa isa>
void pack_strassen(const MatMul&, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Matrices b(*r.inputs[1].constant);
  cpu::pack_strassen(isa, to.type(), to.data(), r.inputs[1].constant->data(), b.n, 1, b.k, b.n, workers);
}
template <Isa isa>
size_t strassen_workspace(const MatMul&, std::span<const Shape> inputs, int threads) {
  static constexpr float somewhere = 0;
  Products p = products(inputs[0], inputs[1]);
  p.packed_b = &somewhere;
  return cpu::strassen_workspace(cpu::gemm_kernels(isa), p, threads);
}
template <Isa isa>
void run_strassen(const MatMul&, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, c.strict());
  Products p = products(c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  p.packed_b = c.packed(1)->data(), p.packed_type = c.packed(1)->type();
  p.c = cpu::floats(c.out(0));
  p.epilogue = c.epilogue();
  cpu::multiply_strassen(g, p, c.workspace(cpu::strassen_workspace(g, p, c.threads())), c);
}

}  // namespace

void cpu_matmul(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul.constant", isa),
                   .isa = isa,
                   .fuses_epilogue = true,
                   .any_alignment = 1,
                   .strict = cpu::strict_products},
                  {.run = run<isa, true>,
                   .supports = supports_constant,
                   .packed_form = packed_form<isa>,
                   .pack = pack<isa>,
                   .workspace = workspace<isa, true>});
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul.exponent_packed", isa),
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
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul.strassen", isa),
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
    k.add<MatMul>(
        {.op = "MatMul",
         .name = cpu::kernel_name("matmul", isa),
         .isa = isa,
         .fuses_epilogue = true,
         .strict = cpu::strict_products},
        {.run = run<isa, false>, .supports = supports_variable, .workspace = workspace<isa, false>});
    k.add<MatMul>(
        {.op = "MatMul", .name = cpu::kernel_name("matmul.doubles", isa), .isa = isa},
        {.run = run_doubles<isa>, .supports = supports_doubles, .workspace = doubles_workspace<isa>});
  });
}

}  // namespace lathe
