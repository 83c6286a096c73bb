// MatMulInteger, QLinearMatMul and ScaledMatMulInteger for a constant matrix B, whose columns may each have a
// scale and a zero point of their own, and for one or many matrices B that only the run knows, with one of
// each; A has one of each.
#include "ops/integer_matmul/integer_matmul.h"

#include "cpu/quantized.h"
#include "cpu/support.h"
#include "ops/integer_matmul/quantization.h"

namespace lathe {
namespace {

/// The indices of the inputs of the three operators.
struct InputIndices {
  size_t b, a_zero, b_zero, a_scale, b_scale, c_scale, c_zero;
};
constexpr InputIndices integer_inputs{1, 2, 3, none, none, none, none};
constexpr InputIndices scaled_inputs{1, 2, 3, 4, 5, none, none};
constexpr InputIndices linear_inputs{3, 2, 5, 1, 4, 6, 7};

/// Returns whether B is [n, k].
template <class Op>
bool transposed(const Op& op) {
  if constexpr (requires { op.transposed; })
    return op.transposed;
  else
    return false;
}

bool gives(const KernelQuery& r, DataType type) { return !r.outputs.empty() && r.outputs[0].type == type; }

/// Refuses types, and scales for each row of A, that no kernel supports.
template <const InputIndices& at>
std::optional<Support> refuse(const KernelQuery& r) {
  for (size_t i : {size_t{0}, at.b, at.c_zero})
    if (i != none && !(cpu::has_input(r, i) && is_eight_bits(r.inputs[i].type)))
      return Support::no("only int8 and uint8");
  for (size_t i : {at.a_scale, at.b_scale, at.c_scale})
    if (i != none && !(cpu::has_input(r, i) && r.inputs[i].type == DataType::float32))
      return Support::no("only scales of float32");
  if (!gives(r, at.c_scale != none   ? r.inputs[at.c_zero].type
                : at.a_scale != none ? DataType::float32
                                     : DataType::int32))
    return Support::no("another type of result");
  if (!r.inputs[0].shape || r.inputs[0].shape->size() < 2) return Support::no("A is not a matrix");
  for (size_t i : {at.a_zero, at.a_scale, at.c_scale, at.c_zero})
    if (i != none && !is_single(r, i)) return Support::no("a scale or zero point of each row");
  return std::nullopt;
}

template <class Op, const InputIndices& at>
Support supports(const Op& op, const KernelQuery& r) {
  if (auto no = refuse<at>(r)) return *no;
  const Tensor* b = cpu::constant_input(r, at.b);
  if (!b || b->rank() != 2) return Support::no("B is not a constant matrix");
  for (size_t i : {at.b_zero, at.b_scale})
    if (i != none && !is_for_columns(r, i, b->dim(transposed(op) ? 0 : 1)))
      return Support::no("scales or zero points of B that are neither one nor one for each column");
  return Support::yes();
}

template <class Op, const InputIndices& at>
std::optional<PackedForm> packed_form(const Op& op, const KernelQuery& r, size_t i) {
  if (i != at.b) return std::nullopt;
  const Tensor& b = *r.inputs[at.b].constant;
  const int64_t k = b.dim(transposed(op) ? 1 : 0), n = b.dim(transposed(op) ? 0 : 1);
  return PackedForm{DataType::int8, {cpu::packed_matrix_bytes(k, n)}};
}

template <class Op, const InputIndices& at>
void pack(const Op& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& b = *r.inputs[at.b].constant;
  const int64_t k = b.dim(transposed(op) ? 1 : 0), n = b.dim(transposed(op) ? 0 : 1);
  cpu::pack_matrix({b.data(), b.type() == DataType::int8, transposed(op)}, k, n, to.as<int8_t>().data(),
                   workers);
}

/// Scratch: two numbers for each column, then what multiplying takes.
struct Scratch {
  Scratch(Isa isa, const Shape& a, const Shape& b, bool transposed)
      : m(1),
        n(b[transposed ? 0 : 1]),
        k(b[transposed ? 1 : 0]),
        columns(cpu::panels(n) * cpu::panel_filters) {
    for (size_t i = 0; i + 1 < a.size(); ++i) m *= a[i];
    product = 2 * columns * static_cast<int64_t>(sizeof(float));
    bytes = static_cast<size_t>(product) + cpu::int8_product_workspace(isa, m, k);
  }
  int64_t m, n, k, columns, product = 0;
  size_t bytes = 0;
};

template <class Op, const InputIndices& at, Isa isa>
size_t workspace(const Op& op, std::span<const Shape> inputs, int) {
  return Scratch(isa, inputs[0], inputs[at.b], transposed(op)).bytes;
}

/// The product as all of its inputs but the packed B say, with vectors for `columns` columns.
template <const InputIndices& at>
cpu::Int8Product described(KernelContext& c, int64_t columns, int32_t* zeros, float* scales,
                           cpu::Int8Product p) {
  const Tensor &a = c.in(0), &b = c.in(at.b);
  Tensor& y = c.out(0);
  p.a = static_cast<const uint8_t*>(a.data());
  p.a_signed = a.type() == DataType::int8;
  p.a_zero = zero_of(optional_input(c, at.a_zero), 0) + (p.a_signed ? 128 : 0);
  p.b_zero = column_zeros(optional_input(c, at.b_zero), b.type(), 0, p.n, columns, zeros);
  float divisor = 1;
  if constexpr (at.c_scale != none) {
    check_scale(c, at.a_scale, false);
    check_scale(c, at.b_scale, false);
    check_scale(c, at.c_scale, true);
    divisor = c.in(at.c_scale).template as<float>()[0];
    p.zero = zero_of(&c.in(at.c_zero), 0);
    p.lowest = y.type() == DataType::int8 ? -128 : 0;
    p.bytes = static_cast<uint8_t*>(y.data());
  } else if constexpr (at.a_scale != none) {
    p.floats = cpu::floats(y);
  } else {
    p.ints = y.as<int32_t>().data();
  }
  if constexpr (at.a_scale != none)
    p.scale = column_scales(c.in(at.a_scale).template as<float>()[0], c.in(at.b_scale).template as<float>(),
                            divisor, p.n, columns, scales);
  return p;
}

template <class Op, const InputIndices& at, Isa isa>
void run(const Op& op, KernelContext& c) {
  const Scratch s(isa, c.in(0).shape(), c.in(at.b).shape(), transposed(op));
  auto* const zeros = static_cast<int32_t*>(c.workspace(s.bytes));
  auto* const scales = reinterpret_cast<float*>(zeros + s.columns);
  cpu::Int8Product p = described<at>(c, s.columns, zeros, scales, {.m = s.m, .n = s.n, .k = s.k});
  p.b = c.packed(at.b)->template as<int8_t>().data();
  cpu::multiply_int8(isa, p, reinterpret_cast<char*>(zeros) + s.product, c);
}

// Kernels for a B that only the run knows.

template <class Op, const InputIndices& at>
Support supports_computed(const Op& op, const KernelQuery& r) {
  if (auto no = refuse<at>(r)) return *no;
  if (transposed(op)) return Support::no("B is transposed");
  if (r.inputs[at.b].constant) return Support::no("B is constant");
  if (!r.inputs[at.b].shape || r.inputs[at.b].shape->size() < 2) return Support::no("B is not a matrix");
  for (size_t i : {at.b_zero, at.b_scale})
    if (i != none && !is_single(r, i)) return Support::no("a scale or zero point of each column");
  return Support::yes();
}

/// Products of matrices, each with a B of its own, or all of A's rows with one B.
struct Products {
  Products(const Shape& a, const Shape& b) : m(a[a.size() - 2]), n(b.back()), k(a.back()) {
    if (b.size() == 2) {
      for (size_t i = 0; i + 2 < a.size(); ++i) m *= a[i];
      return;
    }
    const size_t rank = std::max(a.size(), b.size());
    int64_t a_stride = 1, b_stride = 1;
    for (size_t i = 3; i <= rank; ++i) {
      const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
      sizes.push_back(x == 1 ? y : x);
      a_steps.push_back(x == 1 ? 0 : a_stride);
      b_steps.push_back(y == 1 ? 0 : b_stride);
      a_stride *= x;
      b_stride *= y;
    }
  }
  int64_t count() const { return count_of(sizes); }
  /// The matrix of product i.
  int64_t at(int64_t i, const Shape& steps) const {
    int64_t matrix = 0;
    for (size_t axis = 0; axis < sizes.size(); i /= sizes[axis++]) matrix += i % sizes[axis] * steps[axis];
    return matrix;
  }
  int64_t m, n, k;
  Shape sizes, a_steps, b_steps;  // from the last axis to the first, in matrices
};

/// Two numbers for each column, B packed, a number for each of its terms, what multiplying takes.
struct ComputedScratch {
  ComputedScratch(Isa isa, const Products& p) : columns(cpu::panels(p.n) * cpu::panel_filters) {
    const auto lines = [](int64_t n) { return (n + 63) / 64 * 64; };
    packed = 2 * columns * static_cast<int64_t>(sizeof(float));
    terms = packed + lines(cpu::packed_matrix_bytes(p.k, p.n));
    product = terms + lines(cpu::quads(p.k) * cpu::quad * static_cast<int64_t>(sizeof(int64_t)));
    bytes = static_cast<size_t>(product) + cpu::int8_product_workspace(isa, p.m, p.k);
  }
  int64_t columns, packed, terms, product;
  size_t bytes;
};

template <class Op, const InputIndices& at, Isa isa>
size_t workspace_computed(const Op&, std::span<const Shape> inputs, int) {
  return ComputedScratch(isa, Products(inputs[0], inputs[at.b])).bytes;
}

template <class Op, const InputIndices& at, Isa isa>
void run_computed(const Op&, KernelContext& c) {
  const Tensor& b = c.in(at.b);
  const Products all(c.in(0).shape(), b.shape());
  const ComputedScratch s(isa, all);
  auto* const memory = static_cast<char*>(c.workspace(s.bytes));
  auto* const zeros = reinterpret_cast<int32_t*>(memory);
  auto* const packed = reinterpret_cast<int8_t*>(memory + s.packed);
  const cpu::Int8Product first =
      described<at>(c, s.columns, zeros, reinterpret_cast<float*>(zeros + s.columns),
                    {.m = all.m, .n = all.n, .k = all.k, .b = packed});
  int64_t held = -1;  // the B that is packed
  for (int64_t i = 0; i < all.count(); ++i) {
    const int64_t matrix = all.at(i, all.b_steps), c_at = i * all.m * all.n;
    if (matrix != held)
      cpu::pack_matrix(
          {static_cast<const char*>(b.data()) + matrix * all.k * all.n, b.type() == DataType::int8, false},
          all.k, all.n, packed, reinterpret_cast<int64_t*>(memory + s.terms), c);
    held = matrix;
    cpu::Int8Product p = first;
    p.a += all.at(i, all.a_steps) * all.m * all.k;
    if (p.ints) p.ints += c_at;
    if (p.floats) p.floats += c_at;
    if (p.bytes) p.bytes += c_at;
    p.first_row = i * all.m;
    cpu::multiply_int8(isa, p, memory + s.product, c);
  }
}

template <class Op, const InputIndices& at, Isa isa>
void add(KernelCatalog& k, const char* op, const char* name, const char* domain = "") {
  k.add<Op>({.op = op,
             .domain = domain,
             .name = cpu::kernel_name(name, isa),
             .isa = isa,
             .fuses_epilogue = at.a_scale != none && at.c_scale == none},
            {.run = run<Op, at, isa>,
             .supports = supports<Op, at>,
             .packed_form = packed_form<Op, at>,
             .pack = pack<Op, at>,
             .workspace = workspace<Op, at, isa>});
  k.add<Op>({.op = op,
             .domain = domain,
             .name = cpu::kernel_name(std::string(name) + ".computed", isa),
             .isa = isa,
             .fuses_epilogue = at.a_scale != none && at.c_scale == none},
            {.run = run_computed<Op, at, isa>,
             .supports = supports_computed<Op, at>,
             .workspace = workspace_computed<Op, at, isa>});
}

}  // namespace

/// Defined in integer_matmul_conv.cpu.cc.
void cpu_integer_conv(KernelCatalog& k);

void cpu_integer_matmul(KernelCatalog& k) {
  k.replaces("ScaledMatMulInteger", {"Gemm", "MatMul", "MatMulInteger"});
  cpu_integer_conv(k);
  cpu::for_each_isa([&]<Isa isa>() {
    add<MatMulInteger, integer_inputs, isa>(k, "MatMulInteger", "matmul_integer");
    add<QLinearMatMul, linear_inputs, isa>(k, "QLinearMatMul", "qlinear_matmul");
    add<ScaledMatMulInteger, scaled_inputs, isa>(k, "ScaledMatMulInteger", "scaled_matmul_integer", "lathe");
  });
}

}  // namespace lathe
