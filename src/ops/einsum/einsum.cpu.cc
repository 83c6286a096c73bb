// Einsum of two float32 tensors that is a batch of matrix products: the axes of both operands come in groups,
// one after the other, as "bhid,bhjd->bhij" has them.
#include "ops/einsum/einsum.h"

#include "cpu/gemm.h"
#include "cpu/support.h"

namespace lathe {
namespace {

/// The groups of axes of the equation: b in all, m in the first, n in the second, k summed over.
struct Groups {
  size_t batch = 0, m = 0, n = 0, k = 0;            // the number of axes of each
  bool a_transposed = false, b_transposed = false;  // A as [k, m], B as [n, k]
};

/// Nothing if the equation is no product of matrices with its axes in order.
std::optional<Groups> groups_of(const EinsumPlan& plan) {
  const std::vector<int>&a = plan.terms[0], &b = plan.terms[1];
  const auto in = [](const std::vector<int>& term, int axis) {
    return std::find(term.begin(), term.end(), axis) != term.end();
  };
  Groups g;
  std::vector<int> batch, m, n, k;
  for (int axis = 0; axis < plan.axes; ++axis) {
    const bool kept = axis < plan.output_axes, in_a = in(a, axis), in_b = in(b, axis);
    if (!kept && !(in_a && in_b)) return std::nullopt;
    (!kept ? k : in_a && in_b ? batch : in_a ? m : n).push_back(axis);
  }
  const auto joined = [&](const std::vector<int>& x, const std::vector<int>& y) {
    std::vector<int> all = batch;
    all.insert(all.end(), x.begin(), x.end());
    all.insert(all.end(), y.begin(), y.end());
    return all;
  };
  std::vector<int> output(static_cast<size_t>(plan.output_axes));
  for (size_t i = 0; i < output.size(); ++i) output[i] = static_cast<int>(i);
  if (output != joined(m, n)) return std::nullopt;
  g.a_transposed = a != joined(m, k);
  g.b_transposed = b != joined(k, n);
  if ((g.a_transposed && a != joined(k, m)) || (g.b_transposed && b != joined(n, k))) return std::nullopt;
  g.batch = batch.size();
  g.m = m.size();
  g.n = n.size();
  g.k = k.size();
  return g;
}

/// The equation, parsed once. Ellipses are left to the reference: their axes depend on the ranks.
struct MatrixEinsum : Einsum {
  std::optional<Groups> groups;
  EinsumPlan plan;

  explicit MatrixEinsum(Einsum op) : Einsum(std::move(op)) {
    std::vector<size_t> letters(1, 0);
    for (char ch : std::string_view(equation).substr(0, equation.find("->"))) {
      if (ch == '.') return;
      if (ch == ',') letters.push_back(0);
      letters.back() += ch != ',' && ch != ' ';
    }
    if (letters.size() != 2) return;
    plan = parse(letters);
    groups = groups_of(plan);
  }
};

Support supports(const void* decoded, const KernelQuery& r) {
  const auto& op = *static_cast<const MatrixEinsum*>(decoded);
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (!op.groups) return Support::no("the axes do not form two matrices");
  if (r.inputs.size() != 2) return Support::no("not two operands");
  const auto &a = r.inputs[0].shape, &b = r.inputs[1].shape;
  if (!a || !b) return Support::no("a rank is not known");
  for (size_t i = 0; i < a->size(); ++i)
    for (size_t j = 0; j < b->size(); ++j)
      if (op.plan.terms[0][i] == op.plan.terms[1][j] && !((*a)[i] == (*b)[j]))
        return Support::no("sizes of one letter that may differ");
  return Support::yes();
}

/// The product without its data.
cpu::Products products(const Groups& g, const Shape& a, const Shape& b) {
  const auto count = [](const Shape& s, size_t first, size_t axes) {
    int64_t n = 1;
    for (size_t i = first; i < first + axes; ++i) n *= s[i];
    return n;
  };
  cpu::Products p{.m = count(a, g.batch + (g.a_transposed ? g.k : 0), g.m),
                  .n = count(b, g.batch + (g.b_transposed ? 0 : g.k), g.n),
                  .k = count(a, g.batch + (g.a_transposed ? 0 : g.m), g.k)};
  p.batch = {count(a, 0, g.batch)};
  p.a_step = p.b_step = {1};
  p.a = g.a_transposed ? cpu::Operand{nullptr, 1, p.m} : cpu::Operand{nullptr, p.k, 1};
  p.b = g.b_transposed ? cpu::Operand{nullptr, 1, p.k} : cpu::Operand{nullptr, p.n, 1};
  p.a_matrix = p.m * p.k;
  p.b_matrix = p.k * p.n;
  return p;
}

template <Isa isa>
size_t workspace(const void* decoded, std::span<const Shape> inputs, int) {
  const auto& op = *static_cast<const MatrixEinsum*>(decoded);
  return cpu::multiply_workspace(cpu::gemm_kernels(isa), products(*op.groups, inputs[0], inputs[1]));
}

template <Isa isa>
void run(const void* decoded, KernelContext& c) {
  const auto& op = *static_cast<const MatrixEinsum*>(decoded);
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, c.strict());
  cpu::Products p = products(*op.groups, c.in(0).shape(), c.in(1).shape());
  p.a.data = cpu::floats(c.in(0));
  p.b.data = cpu::floats(c.in(1));
  p.c = cpu::floats(c.out(0));
  cpu::multiply(g, p, c.workspace(cpu::multiply_workspace(g, p)), c);
}

}  // namespace

void cpu_einsum(KernelCatalog& k) {
  const auto read = [](const Attributes& a) -> std::shared_ptr<const void> {
    return std::make_shared<const MatrixEinsum>(decode<Einsum>(a));
  };
  cpu::for_each_isa([&]<Isa isa>() {
    k.add({.op = "Einsum",
           .name = cpu::kernel_name("einsum", isa),
           .isa = isa,
           .strict = cpu::strict_products,
           .decode = read,
           .run = run<isa>,
           .supports = supports,
           .workspace = workspace<isa>});
  });
}

}  // namespace lathe
