// QuantizeLinear and DequantizeLinear between float32 and bytes (and from int32), with one scale, or one for
// each index of an axis; DynamicQuantizeLinear.
#include "ops/quantize/quantize.h"

#include <atomic>
#include <functional>
#include <limits>

#include "cpu/ask.h"
#include "cpu/bytes_rows.h"
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

template <Isa isa>
void quantize(const QuantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  Tensor& out = c.out(0);
  const cpu::ByteRowKernels& k = cpu::byte_row_kernels(isa);
  for_type(out.type(), byte_types, [&]<class T>() -> void {
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    Grid(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
      k.quantize(cpu::floats(x) + first, out.as<T>().data() + first, n, cpu::floats(scale)[s],
                 zeros ? zeros[s] : 0, std::numeric_limits<T>::min());
    });
  });
}

Verdict ask_dynamic(const DynamicQuantizeLinear&, const KernelRequest& r) {
  constexpr DataType types[] = {DataType::uint8, DataType::float32, DataType::uint8};
  if (r.inputs[0].type != DataType::float32) return Verdict::no("only float32");
  for (size_t i = 0; i < r.outputs.size(); ++i)
    if (r.outputs[i].present && (i > 2 || r.outputs[i].type != types[i]))
      return Verdict::no("another type of result");
  return Verdict::yes();
}

/// Differences of int32 take more digits than float has.
void dequantize_wide(const int32_t* x, float* y, int64_t n, float scale, int64_t zero) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] - zero) * scale;
}

template <Isa isa>
void dequantize(const DequantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  float* const out = cpu::floats(c.out(0));
  const cpu::ByteRowKernels& k = cpu::byte_row_kernels(isa);
  for_type(x.type(), stored_types, [&]<class T>() -> void {
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    Grid(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
      const T* from = x.as<T>().data() + first;
      float* to = out + first;
      const float by = cpu::floats(scale)[s];
      if constexpr (std::is_same_v<T, uint8_t>)
        k.dequantize(from, to, n, by, zeros ? zeros[s] : 0);
      else if constexpr (std::is_same_v<T, int8_t>)
        k.dequantize_signed(from, to, n, by, zeros ? zeros[s] : 0);
      else
        dequantize_wide(from, to, n, by, zeros ? zeros[s] : 0);
    });
  });
}

/// The bytes of x, the range of which is widened to hold 0 and spread over 0 … 255. All in float, as the
/// standard's function.
template <Isa isa>
void dynamic_quantize(const DynamicQuantizeLinear&, KernelContext& c) {
  const cpu::ByteRowKernels& k = cpu::byte_row_kernels(isa);
  const Tensor& x = c.in(0);
  std::atomic<float> low = 0, high = 0;
  const auto widen = [](std::atomic<float>& bound, float to, auto&& beyond) {
    float known = bound.load();
    while (beyond(to, known) && !bound.compare_exchange_weak(known, to)) {
    }
  };
  c.parallel(x.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    float least = 0, most = 0;
    for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
      c.poll();
      k.range(cpu::floats(x) + i, std::min(cpu::elements_a_piece, end - i), least, most);
    }
    widen(low, least, std::less<>());
    widen(high, most, std::greater<>());
  });
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const auto zero = saturated<uint8_t>(static_cast<double>(0.0f - low / scale));
  if (c.wants(1)) c.out(1).as<float>()[0] = scale;
  if (c.wants(2)) c.out(2).as<uint8_t>()[0] = zero;
  if (!c.wants(0)) return;
  uint8_t* const y = c.out(0).as<uint8_t>().data();
  c.parallel(x.size(), cpu::elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += cpu::elements_a_piece) {
      c.poll();
      k.quantize(cpu::floats(x) + i, y + i, std::min(cpu::elements_a_piece, end - i), scale, zero, 0);
    }
  });
}

}  // namespace

void cpu_quantize(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<QuantizeLinear>({.op = "QuantizeLinear", .name = cpu::kernel_name("quantize", isa), .isa = isa},
                          {.run = quantize<isa>, .ask = ask_quantize});
    k.add<DequantizeLinear>(
        {.op = "DequantizeLinear", .name = cpu::kernel_name("dequantize", isa), .isa = isa},
        {.run = dequantize<isa>, .ask = ask_dequantize});
    k.add<DynamicQuantizeLinear>(
        {.op = "DynamicQuantizeLinear", .name = cpu::kernel_name("dynamic_quantize", isa), .isa = isa},
        {.run = dynamic_quantize<isa>, .ask = ask_dynamic});
  });
}

}  // namespace lathe
