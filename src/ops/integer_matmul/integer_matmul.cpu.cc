// MatMulInteger by the float32 micro-kernels: products of at most 256 terms of eight bits each, less their
// zero points, stay below 2^24 and are exact; the sums of such products are integers.
#include "ops/integer_matmul/integer_matmul.h"

#include <algorithm>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "cpu/gemm.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Terms whose sum is exact: 256 * 255 * 255 < 2^24.
constexpr int64_t exact_terms = 256;
inline constexpr Types<int8_t, uint8_t> eight_bits;

bool is_eight_bits(DataType t) { return t == DataType::int8 || t == DataType::uint8; }

struct Sizes {
  Sizes(const Shape& a, const Shape& b)
      : m(a.back() == 0 ? 0 : count_of(a) / a.back()),
        n(b[1]),
        k(b[0]),
        steps((k + exact_terms - 1) / exact_terms) {
    if (a.back() == 0) {
      m = 1;
      for (size_t i = 0; i + 1 < a.size(); ++i) m *= a[i];
    }
  }
  int64_t begin(int64_t step) const { return step * exact_terms; }
  int64_t length(int64_t step) const { return std::min(exact_terms, k - begin(step)); }
  int64_t m, n, k, steps;
};

/// The products of one step: all rows, some of the terms.
cpu::Products products(const cpu::GemmKernels& g, const Sizes& s, int64_t step, const float* a,
                       const float* packed, float* c) {
  cpu::Products p{.m = s.m, .n = s.n, .k = s.length(step)};
  p.a = {a + s.begin(step), s.k, 1};
  p.packed_b = packed + cpu::packed_b_size(g, s.begin(step), s.n);
  p.c = c;
  return p;
}

Verdict ask(const MatMulInteger&, const KernelRequest& r) {
  if (!is_eight_bits(r.inputs[0].type) || !is_eight_bits(r.inputs[1].type))
    return Verdict::no("only int8 and uint8");
  const Tensor* b = cpu::constant_input(r, 1);
  if (!b || b->rank() != 2) return Verdict::no("B is not a constant matrix");
  if (!r.inputs[0].shape || r.inputs[0].shape->size() < 2) return Verdict::no("A is not a matrix");
  if (cpu::has_input(r, 2)) {
    const auto& zero = r.inputs[2].shape;
    if (!zero || std::ranges::any_of(*zero, [](const Dim& d) { return !(d == Dim(1)); }))
      return Verdict::no("zero points of the rows of A");
  }
  if (cpu::has_input(r, 3)) {
    const Tensor* zero = cpu::constant_input(r, 3);
    if (!zero || (zero->size() != 1 && !(zero->rank() == 1 && zero->size() == b->dim(1))))
      return Verdict::no("zero points of B that are neither one nor one for each column");
  }
  return Verdict::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const MatMulInteger&, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& b = *r.inputs[1].constant;
  return PackedForm{DataType::float32, {cpu::packed_b_size(cpu::gemm_kernels(isa), b.dim(0), b.dim(1))}};
}

template <Isa isa>
void pack(const MatMulInteger&, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const Tensor& b = *r.inputs[1].constant;
  const Tensor* zero = cpu::constant_input(r, 3);
  const Sizes s({1, b.dim(0)}, b.shape());
  std::vector<float> rows(static_cast<size_t>(exact_terms * s.n));
  for (int64_t step = 0; step < s.steps; ++step) {
    workers.poll();
    for (int64_t i = 0; i < s.length(step) * s.n; ++i) {
      const int64_t column = i % s.n;
      const int64_t z = !zero ? 0 : load_int(*zero, zero->size() == 1 ? 0 : column);
      rows[static_cast<size_t>(i)] = static_cast<float>(load_int(b, s.begin(step) * s.n + i) - z);
    }
    cpu::pack_whole_b(g, cpu::floats(to) + cpu::packed_b_size(g, s.begin(step), s.n), {rows.data(), s.n, 1},
                      s.length(step), s.n, workers);
  }
}

/// Scratch: A as floats, the products of a step, and what multiplying takes.
struct Scratch {
  Scratch(const cpu::GemmKernels& g, const Sizes& s) {
    static constexpr float somewhere = 0;
    const auto lines = [](int64_t floats) { return (floats + 15) / 16 * 16; };
    sums = lines(s.m * s.k);
    rest = sums + lines(s.m * s.n);
    size_t most = 0;
    for (int64_t step : {int64_t{0}, s.steps - 1})
      if (s.steps > 0)
        most =
            std::max(most, cpu::multiply_workspace(g, products(g, s, step, &somewhere, &somewhere, nullptr)));
    bytes = static_cast<size_t>(rest) * sizeof(float) + most;
  }
  int64_t sums, rest;
  size_t bytes;
};

template <Isa isa>
size_t workspace(const MatMulInteger&, std::span<const Shape> inputs, int) {
  return Scratch(cpu::gemm_kernels(isa), Sizes(inputs[0], inputs[1])).bytes;
}

void to_floats(const Tensor& a, int64_t zero, float* to, KernelContext& c) {
  for_type(a.type(), eight_bits, [&]<class T>() -> void {
    const T* from = a.as<T>().data();
    c.parallel(a.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
        c.poll();
        for (int64_t j = i; j < std::min(end, i + cpu::elements_a_piece); ++j)
          to[j] = static_cast<float>(static_cast<int32_t>(from[j]) - static_cast<int32_t>(zero));
      }
    });
  });
}

/// y += sums, modulo 2^32; or y = sums.
void take(const float* sums, int64_t n, bool first, int32_t* y, KernelContext& c) {
  c.parallel(n, cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
      c.poll();
      for (int64_t j = i; j < std::min(end, i + cpu::elements_a_piece); ++j) {
        const auto before = first ? 0u : static_cast<uint32_t>(y[j]);
        y[j] = static_cast<int32_t>(before + static_cast<uint32_t>(static_cast<int32_t>(sums[j])));
      }
    }
  });
}

template <Isa isa>
void run(const MatMulInteger&, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const Sizes s(c.in(0).shape(), c.in(1).shape());
  const Scratch at(g, s);
  auto* const scratch = static_cast<float*>(c.workspace(at.bytes));
  int32_t* const y = c.out(0).as<int32_t>().data();
  if (s.steps == 0) std::fill_n(y, s.m * s.n, 0);
  to_floats(c.in(0), cpu::has_input(c, 2) ? load_int(c.in(2), 0) : 0, scratch, c);
  for (int64_t step = 0; step < s.steps; ++step) {
    cpu::multiply(g, products(g, s, step, scratch, cpu::floats(*c.packed(1)), scratch + at.sums),
                  scratch + at.rest, c);
    take(scratch + at.sums, s.m * s.n, step == 0, y, c);
  }
}

}  // namespace

void cpu_integer_matmul(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<MatMulInteger>({.op = "MatMulInteger", .name = cpu::kernel_name("matmul_integer", isa), .isa = isa},
                         {.run = run<isa>,
                          .ask = ask,
                          .packed_form = packed_form<isa>,
                          .pack = pack<isa>,
                          .workspace = workspace<isa>});
  });
}

}  // namespace lathe
