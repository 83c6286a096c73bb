// QuantizeLinear and DequantizeLinear between float32 and bytes (and from int32), with one scale, or one for
// each index of an axis.
#include "ops/quantize/quantize.h"

#include <limits>

#include "cpu/ask.h"
#include "cpu/elementwise.h"
#include "ops/compute.h"

namespace lathe {
namespace {

inline constexpr Types<int8_t, uint8_t> byte_types;
inline constexpr Types<int8_t, uint8_t, int32_t> stored_types;

/// The tensor as [outer, scales, inner]: what has one scale lies together.
struct Grid {
  int64_t scales = 1, inner, count;
  Grid(const QuantizationGrid& op, const Tensor& x, const Tensor& scale) : inner(x.size()), count(x.size()) {
    if (scale.size() == 1) return;
    const auto axis = static_cast<size_t>(op.axis < 0 ? op.axis + static_cast<int64_t>(x.rank()) : op.axis);
    scales = x.dim(axis);
    inner = count_between(x.shape(), axis + 1, x.rank());
  }
  /// Calls f(first, n, scale) for runs under one scale.
  template <class F>
  void each_run(KernelContext& c, F&& f) const {
    c.parallel(count, cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
      int64_t since_poll = cpu::elements_a_piece;
      for (int64_t i = begin; i < end;) {
        if (since_poll >= cpu::elements_a_piece) {
          c.poll();
          since_poll = 0;
        }
        const int64_t n = std::min({inner - i % inner, end - i, cpu::elements_a_piece});
        f(i, n, static_cast<size_t>(i / inner % scales));
        i += n;
        since_poll += n;
      }
    });
  }
};

Verdict ask_grid(const QuantizationGrid& op, const KernelRequest& r, const KernelRequest::Operand& bytes,
                 const KernelRequest::Operand& floats, bool wide) {
  if (floats.type != DataType::float32 || r.inputs[1].type != DataType::float32)
    return Verdict::no("only float32");
  const bool known = bytes.type == DataType::int8 || bytes.type == DataType::uint8 ||
                     (wide && bytes.type == DataType::int32);
  if (!known) return Verdict::no("not for " + std::string(name_of(bytes.type)));
  if (cpu::has_input(r, 2) && r.inputs[2].type != bytes.type)
    return Verdict::no("a zero point of another type");
  if (op.block_size > 0) return Verdict::no("blocks");
  return Verdict::yes();
}

Verdict ask_quantize(const QuantizeLinear& op, const KernelRequest& r) {
  if (op.precision != 0 && op.precision != static_cast<int64_t>(DataType::float32))
    return Verdict::no("a precision other than float32");
  return ask_grid(op, r, r.outputs[0], r.inputs[0], false);
}
Verdict ask_dequantize(const DequantizeLinear& op, const KernelRequest& r) {
  return ask_grid(op, r, r.inputs[0], r.outputs[0], true);
}

/// Rounds to the nearest, ties to even, and clamps; NaN gives the zero point.
template <class T>
void quantize_run(const cpu::ElementwiseKernels& k, const float* x, T* to, int64_t n, float scale, int zero) {
  constexpr auto right_single = static_cast<size_t>(cpu::RowForm::right_single);
  const auto divide = k.binary[static_cast<size_t>(cpu::BinaryOp::divide)][right_single];
  const auto round = k.unary[static_cast<size_t>(cpu::UnaryOp::nearest_even)];
  constexpr int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const auto least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
  float block[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t count = std::min<int64_t>(256, n - i);
    divide(x + i, &scale, block, count);
    round(block, block, count, 0, 0);
    for (int64_t j = 0; j < count; ++j) {
      const float q = block[j] != block[j] ? 0 : block[j];
      to[i + j] = static_cast<T>(static_cast<int>(q < least ? least : q > most ? most : q) + zero);
    }
  }
}

template <Isa isa>
void quantize(const QuantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  Tensor& out = c.out(0);
  const cpu::ElementwiseKernels& k = cpu::elementwise_kernels(isa);
  for_type(out.type(), byte_types, [&]<class T>() -> void {
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    Grid(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
      quantize_run(k, cpu::floats(x) + first, out.as<T>().data() + first, n, cpu::floats(scale)[s],
                   zeros ? zeros[s] : 0);
    });
  });
}

void dequantize(const DequantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  float* const out = cpu::floats(c.out(0));
  for_type(x.type(), stored_types, [&]<class T>() -> void {
    using Difference = std::conditional_t<sizeof(T) == 4, int64_t, int32_t>;
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    Grid(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
      const T* from = x.as<T>().data() + first;
      float* to = out + first;
      const float by = cpu::floats(scale)[s];
      const Difference zero = zeros ? zeros[s] : 0;
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i] - zero) * by;
    });
  });
}

}  // namespace

void cpu_quantize(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<QuantizeLinear>({.op = "QuantizeLinear", .name = cpu::kernel_name("quantize", isa), .isa = isa},
                          {.run = quantize<isa>, .ask = ask_quantize});
  });
  k.add<DequantizeLinear>({.op = "DequantizeLinear", .name = cpu::kernel_name("dequantize", Isa::generic)},
                          {.run = dequantize, .ask = ask_dequantize});
}

}  // namespace lathe
