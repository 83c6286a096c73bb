// MatMul on the matrix micro-kernels: one kernel for constant weights, packed when the engine is built, one
// for other floats, and one for doubles.
#include "ops/matmul/matmul.h"

#include "cpu/ask.h"
#include "cpu/gemm_doubles.h"
#include "cpu/short_floats.h"
#include "cpu/strassen.h"

namespace lathe {
namespace {

using cpu::Products;

/// The products that MatMul of these shapes stands for, without their data.
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

Verdict ask_constant(const MatMul&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  if (!r.inputs[1].constant) return Verdict::no("B is not a constant");
  if (r.inputs[1].constant->rank() == 0) return Verdict::no("B is a single number");
  return Verdict::yes();
}
Verdict ask_variable(const MatMul&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (r.inputs[1].constant) return Verdict::no("B is a constant, better packed once");
  return Verdict::yes();
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
std::optional<PackedForm> packed_form(const MatMul&, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Matrices b(*r.inputs[1].constant);
  return PackedForm{r.inputs[1].type, {b.count * cpu::packed_b_size(cpu::gemm_kernels(isa), b.k, b.n)}};
}

template <Isa isa>
void pack(const MatMul&, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
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

Verdict ask_doubles(const MatMul&, const KernelRequest& r) {
  return cpu::ask_type(r.inputs[0].type, Types<double>{});
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

/// Of one constant matrix, whose floats are packed in seven eighths of their bytes.
Verdict ask_short(const MatMul& op, const KernelRequest& r) {
  if (Verdict v = ask_constant(op, r); !v.accepted) return v;
  if (r.inputs[1].type != DataType::float32) return Verdict::no("only weights of float32 are made shorter");
  const Tensor& b = *r.inputs[1].constant;
  if (b.rank() < 2 || Matrices(b).count != 1) return Verdict::no("B is not one matrix");
  return Verdict::yes();
}
Verdict prefer_short(const MatMul&, const KernelRequest& r) {
  const Matrices b(*r.inputs[1].constant);
  const auto m = cpu::likely_rows(r);
  return m ? cpu::prefer_short(r, *m, b.k, b.n) : Verdict::no("the number of rows is not known");
}
template <Isa isa>
std::optional<PackedForm> short_form(const MatMul&, const KernelRequest& r, size_t i) {
  const Matrices b(*r.inputs[1].constant);
  const auto size = i == 1 ? cpu::short_size(isa, cpu::ShortKind::floats, b.k, b.n) : std::nullopt;
  return size ? std::optional(PackedForm{DataType::uint8, {*size}}) : std::nullopt;
}
template <Isa isa>
bool pack_short(const MatMul&, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const Matrices b(*r.inputs[1].constant);
  const cpu::Operand from{cpu::floats(*r.inputs[1].constant), b.n, 1};
  return cpu::pack_short(isa, static_cast<std::byte*>(to.data()), from, b.k, b.n, workers);
}
cpu::ShortProduct short_product(const Shape& a, const Shape& b) {
  const Products p = products(a, b);
  return {.m = p.m, .n = p.n, .k = p.k};
}
template <Isa isa>
size_t short_workspace(const MatMul&, std::span<const Shape> inputs, int) {
  return cpu::multiply_workspace(isa, short_product(inputs[0], inputs[1]));
}
template <Isa isa>
void run_short(const MatMul&, KernelContext& c) {
  cpu::multiply_operands(isa, short_product(c.in(0).shape(), c.in(1).shape()), c);
}

/// Of one constant matrix, for many rows.
Verdict ask_strassen(const MatMul& op, const KernelRequest& r) {
  if (Verdict v = ask_constant(op, r); !v.accepted) return v;
  const Tensor& b = *r.inputs[1].constant;
  if (b.rank() < 2 || Matrices(b).count != 1) return Verdict::no("B is not one matrix");
  return cpu::ask_strassen(r, b.type(), Matrices(b).k);
}
Verdict prefer_strassen(const MatMul&, const KernelRequest& r) {
  const Matrices b(*r.inputs[1].constant);
  return cpu::prefer_strassen(r, cpu::likely_rows(r), b.n);
}
template <Isa isa>
std::optional<PackedForm> strassen_form(const MatMul&, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Matrices b(*r.inputs[1].constant);
  return PackedForm{r.inputs[1].type, {cpu::strassen_size(isa, b.k, b.n)}};
}
template <Isa isa>
void pack_strassen(const MatMul&, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
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
                   .finishes = true,
                   .any_alignment = 1,
                   .strict = cpu::strict_products},
                  {.run = run<isa, true>,
                   .ask = ask_constant,
                   .packed_form = packed_form<isa>,
                   .pack = pack<isa>,
                   .workspace = workspace<isa, true>});
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul.short", isa),
                   .isa = isa,
                   .priority = 1,
                   .finishes = true,
                   .any_alignment = 1,
                   .strict = cpu::strict_products},
                  {.run = run_short<isa>,
                   .ask = ask_short,
                   .prefer = prefer_short,
                   .packed_form = packed_form<isa>,
                   .pack = pack<isa>,
                   .compact_form = short_form<isa>,
                   .pack_compact = pack_short<isa>,
                   .workspace = short_workspace<isa>});
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul.strassen", isa),
                   .isa = isa,
                   .priority = 1,
                   .finishes = true,
                   .any_alignment = 1,
                   .strict = cpu::strict_products},
                  {.run = run_strassen<isa>,
                   .ask = ask_strassen,
                   .prefer = prefer_strassen,
                   .packed_form = strassen_form<isa>,
                   .pack = pack_strassen<isa>,
                   .workspace = strassen_workspace<isa>});
    k.add<MatMul>({.op = "MatMul",
                   .name = cpu::kernel_name("matmul", isa),
                   .isa = isa,
                   .finishes = true,
                   .strict = cpu::strict_products},
                  {.run = run<isa, false>, .ask = ask_variable, .workspace = workspace<isa, false>});
    k.add<MatMul>({.op = "MatMul", .name = cpu::kernel_name("matmul.doubles", isa), .isa = isa},
                  {.run = run_doubles<isa>, .ask = ask_doubles, .workspace = doubles_workspace<isa>});
  });
}

}  // namespace lathe
