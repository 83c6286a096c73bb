// QuantizeLinear and DequantizeLinear between float32 and bytes (and from int32), with one scale, or one for
// each index of an axis; DynamicQuantizeLinear. Both of numbers of 2 to 16 bits, also with a scale for each
// block of them.
#include "ops/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>

#include "cpu/elementwise.h"
#include "cpu/quantized.h"
#include "cpu/support.h"
#include "ops/compute.h"

namespace lathe {
namespace {

inline constexpr Types<int8_t, uint8_t> byte_types;
inline constexpr Types<int8_t, uint8_t, int32_t> stored_types;

/// The tensor as [outer, scales, inner]: elements that share a scale are contiguous.
struct ScaleRuns {
  int64_t scales = 1, inner, count;
  ScaleRuns(const QuantizationParams& op, const Tensor& x, const Tensor& scale)
      : inner(x.size()), count(x.size()) {
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

Support supports_quantization(const QuantizationParams& op, const KernelQuery& r,
                              const KernelQuery::Operand& bytes, const KernelQuery::Operand& floats,
                              bool wide) {
  if (floats.type != DataType::float32 || r.inputs[1].type != DataType::float32)
    return Support::no("only float32");
  const bool known = bytes.type == DataType::int8 || bytes.type == DataType::uint8 ||
                     (wide && bytes.type == DataType::int32);
  if (!known) return Support::no("not for " + std::string(name_of(bytes.type)));
  if (cpu::has_input(r, 2) && r.inputs[2].type != bytes.type)
    return Support::no("a zero point of another type");
  if (op.block_size > 0) return Support::no("blocks");
  return Support::yes();
}

Support supports_quantize(const QuantizeLinear& op, const KernelQuery& r) {
  if (op.precision != 0 && op.precision != static_cast<int64_t>(DataType::float32))
    return Support::no("a precision other than float32");
  return supports_quantization(op, r, r.outputs[0], r.inputs[0], false);
}
Support supports_dequantize(const DequantizeLinear& op, const KernelQuery& r) {
  return supports_quantization(op, r, r.inputs[0], r.outputs[0], true);
}

template <Isa isa>
void quantize(const QuantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  Tensor& out = c.out(0);
  const cpu::Int8RowKernels& k = cpu::int8_row_kernels(isa);
  for_type(out.type(), byte_types, [&]<class T>() -> void {
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    ScaleRuns(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
      k.quantize(cpu::floats(x) + first, out.as<T>().data() + first, n, cpu::floats(scale)[s],
                 zeros ? zeros[s] : 0, std::numeric_limits<T>::min());
    });
  });
}

Support supports_dynamic(const DynamicQuantizeLinear&, const KernelQuery& r) {
  constexpr DataType types[] = {DataType::uint8, DataType::float32, DataType::uint8};
  if (r.inputs[0].type != DataType::float32) return Support::no("only float32");
  for (size_t i = 0; i < r.outputs.size(); ++i)
    if (r.outputs[i].present && (i > 2 || r.outputs[i].type != types[i]))
      return Support::no("another type of result");
  return Support::yes();
}

/// Differences of int32 take more digits than float has.
void dequantize_wide(const int32_t* x, float* y, int64_t n, float scale, int64_t zero) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] - zero) * scale;
}

template <Isa isa>
void dequantize(const DequantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  float* const out = cpu::floats(c.out(0));
  const cpu::Int8RowKernels& k = cpu::int8_row_kernels(isa);
  for_type(x.type(), stored_types, [&]<class T>() -> void {
    const T* zeros = cpu::has_input(c, 2) ? c.in(2).as<T>().data() : nullptr;
    ScaleRuns(op, x, scale).each_run(c, [&](int64_t first, int64_t n, size_t s) {
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

// Blocks.

/// The tensor as [outer, size, inner], with a scale for each block along the middle axis: [outer, blocks,
/// inner] of them; or with one for each index of that axis, or for all.
struct Blocks {
  int64_t size, inner = 1, block = 0, blocks = 0;  // block 0: no blocks
  bool single;
  Blocks(const QuantizationParams& op, const Shape& x, const Shape& scale)
      : size(count_of(x)), single(count_of(scale) == 1) {
    if (single) return;
    const auto axis = static_cast<size_t>(op.axis < 0 ? op.axis + static_cast<int64_t>(x.size()) : op.axis);
    size = x[axis];
    inner = count_between(x, axis + 1, x.size());
    block = op.block_size;
    if (block > 0) blocks = size / block + (size % block != 0);
  }
  /// Calls f(at, n, scale, each) for the parts of elements [begin, end): n elements from `at` on, which share
  /// that scale, or have one `each`, from that one on.
  template <class F>
  void each_part(int64_t begin, int64_t end, F&& f) const {
    if (single) return f(begin, end - begin, int64_t{0}, false);
    if (inner == 1 && block > 1) {  // one scale after the other, also from row to row
      int64_t along = begin % size, scale = begin / size * blocks + along / block, n = block - along % block;
      for (int64_t at = begin; at < end; at += n, ++scale, n = block) {
        n = std::min({n, size - along, end - at});
        f(at, n, scale, false);
        along = along + n < size ? along + n : 0;
      }
      return;
    }
    // Along axes without blocks, neighbors have scales of their own, which are neighbors too.
    const bool each = block > 0 || inner == 1;
    for (int64_t at = begin; at < end;) {
      const int64_t within = at % inner, along = at / inner % size, outer = at / inner / size;
      const int64_t first = block > 0 ? (outer * blocks + along / block) * inner + within : along;
      const int64_t left = inner > 1 ? inner - within : size - along;
      const int64_t n = std::min(left, end - at);
      f(at, n, first, each);
      at += n;
    }
  }
};

/// Elements that are floats while they are scaled; whole bytes.
constexpr int64_t together = 2048;

bool is_low_bit(DataType t) { return is_integer(t) && bits_of(t) <= 16; }

/// Elements [first, first + n), which begin with a byte.
void widen_numbers(Isa isa, DataType type, const void* from, int64_t first, float* to, int64_t n) {
  const int bits = bits_of(type);
  const auto* const bytes = static_cast<const uint8_t*>(from) + first * bits / 8;
  if (bits == 16) return cpu::cast_row(isa, type, DataType::float32)(bytes, to, n);
  cpu::low_bit_kernels(isa).widen[bits == 2 ? 0 : bits == 4 ? 1 : 2](bytes, to, n, is_signed_integer(type));
}
void widen_numbers(Isa isa, const Tensor& from, float* to, KernelContext& c) {
  c.parallel((from.size() + together - 1) / together, 8, [&](int64_t begin, int64_t end) {
    c.poll();
    const int64_t first = begin * together, last = std::min(from.size(), end * together);
    widen_numbers(isa, from.type(), from.data(), first, to + first, last - first);
  });
}

Support supports_blocks(const DequantizeLinear& op, const KernelQuery& r) {
  const DataType x = r.inputs[0].type, y = r.outputs[0].type;
  const int bits = bits_of(x);
  if (!is_low_bit(x)) return Support::no("not for " + std::string(name_of(x)));
  if ((y != DataType::float32 && !cpu::is_f16(y)) || r.inputs[1].type != y)
    return Support::no("only floats of the scales' type, float32 or of 16 bits");
  if (cpu::has_input(r, 2) && r.inputs[2].type != x) return Support::no("a zero point of another type");
  if (op.block_size == 0 && bits == 8 && y == DataType::float32) return Support::no("no blocks");
  return Support::yes();
}

/// Scales, and zero points, as floats.
size_t blocks_workspace(const DequantizeLinear&, std::span<const Shape> inputs, int) {
  return 2 * static_cast<size_t>(count_of(inputs[1])) * sizeof(float);
}

template <Isa isa>
void dequantize_blocks(const DequantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  Tensor& out = c.out(0);
  const cpu::LowBitKernels& k = cpu::low_bit_kernels(isa);
  auto* const memory =
      static_cast<float*>(c.workspace(blocks_workspace(op, std::array{x.shape(), scale.shape()}, 1)));
  const float* scales = cpu::floats(scale);
  if (scale.type() != DataType::float32) {
    cpu::widen(isa, scale.type(), scale.data(), memory, scale.size(), c);
    scales = memory;
  }
  const float* zeros = nullptr;
  if (cpu::has_input(c, 2)) {
    widen_numbers(isa, c.in(2), memory + scale.size(), c);
    zeros = memory + scale.size();
  }
  const Blocks blocks(op, x.shape(), scale.shape());
  const bool narrow = out.type() != DataType::float32;
  c.parallel((x.size() + together - 1) / together, cpu::elements_a_piece / together,
             [&](int64_t begin, int64_t end) {
               float wide[together], scaled[together];
               for (int64_t i = begin; i < end; ++i) {
                 if ((i - begin) % 8 == 0) c.poll();
                 const int64_t first = i * together, n = std::min(together, x.size() - first);
                 widen_numbers(isa, x.type(), x.data(), first, wide, n);
                 float* const to = narrow ? scaled : cpu::floats(out) + first;
                 blocks.each_part(first, first + n, [&](int64_t at, int64_t count, int64_t s, bool each) {
                   const float* const from = wide + (at - first);
                   if (each)
                     k.scale_each(from, to + (at - first), count, scales + s, zeros ? zeros + s : nullptr);
                   else
                     k.scale(from, to + (at - first), count, scales[s], zeros ? zeros[s] : 0);
                 });
                 if (narrow)
                   cpu::narrow(isa, out.type(), scaled, static_cast<std::byte*>(out.data()) + first * 2, n);
               }
             });
}

Support supports_quantize_blocks(const QuantizeLinear& op, const KernelQuery& r) {
  const DataType y = r.outputs[0].type;
  if (r.inputs[0].type != DataType::float32 || r.inputs[1].type != DataType::float32)
    return Support::no("only float32");
  if (op.precision != 0 && op.precision != static_cast<int64_t>(DataType::float32))
    return Support::no("a precision other than float32");
  if (!is_low_bit(y)) return Support::no("not for " + std::string(name_of(y)));
  if (cpu::has_input(r, 2) && r.inputs[2].type != y) return Support::no("a zero point of another type");
  if (op.block_size == 0 && bits_of(y) == 8) return Support::no("no blocks");
  return Support::yes();
}

/// Zero points as floats.
size_t quantize_workspace(const QuantizeLinear&, std::span<const Shape> inputs, int) {
  return static_cast<size_t>(count_of(inputs[1])) * sizeof(float);
}

/// Numbers of less than a byte, the first ones in the lowest bits. Those that the last byte lacks are read.
template <int bits>
void pack_bits(const uint8_t* numbers, int64_t n, uint8_t* to) {
  constexpr int in_byte = 8 / bits, mask = (1 << bits) - 1;
  for (int64_t i = 0; i * in_byte < n; ++i) {
    int byte = 0;
    for (int j = 0; j < in_byte; ++j) byte |= (numbers[i * in_byte + j] & mask) << (j * bits);
    to[i] = static_cast<uint8_t>(byte);
  }
}

template <Isa isa>
void quantize_blocks(const QuantizeLinear& op, KernelContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  Tensor& out = c.out(0);
  const DataType type = out.type();
  const cpu::LowBitKernels& k = cpu::low_bit_kernels(isa);
  auto* const memory =
      static_cast<float*>(c.workspace(quantize_workspace(op, std::array{x.shape(), scale.shape()}, 1)));
  const float* const scales = cpu::floats(scale);
  const float* zeros = nullptr;
  if (cpu::has_input(c, 2)) {
    widen_numbers(isa, c.in(2), memory, c);
    zeros = memory;
  }
  const int bits = bits_of(type);
  const bool is_signed = is_signed_integer(type);
  const auto most = static_cast<float>((1 << (bits - is_signed)) - 1);
  const Bounds within{is_signed ? -most - 1 : 0, most};
  const bool packs = bits < 8;
  const cpu::SingleRow narrow = cpu::cast_row(isa, DataType::float32, packs ? DataType::int8 : type);
  const Blocks blocks(op, x.shape(), scale.shape());
  c.parallel((x.size() + together - 1) / together, cpu::elements_a_piece / together,
             [&](int64_t begin, int64_t end) {
               float numbers[together];
               uint8_t bytes[together];
               for (int64_t i = begin; i < end; ++i) {
                 if ((i - begin) % 8 == 0) c.poll();
                 const int64_t first = i * together, n = std::min(together, x.size() - first);
                 blocks.each_part(first, first + n, [&](int64_t at, int64_t count, int64_t s, bool each) {
                   (each ? k.quantize_each : k.quantize)(cpu::floats(x) + at, numbers + (at - first), count,
                                                         scales + s, zeros ? zeros + s : nullptr, within);
                 });
                 auto* const to = static_cast<uint8_t*>(out.data()) + first * bits / 8;
                 narrow(numbers, packs ? bytes : to, n);
                 if (packs) std::fill_n(bytes + n, -n & 3, uint8_t{0});
                 if (packs) (bits == 4 ? pack_bits<4> : pack_bits<2>)(bytes, n, to);
               }
             });
}

/// The bytes of x, the range of which is widened to hold 0 and spread over 0 … 255. All in float, as the
/// standard's function.
template <Isa isa>
void dynamic_quantize(const DynamicQuantizeLinear&, KernelContext& c) {
  const cpu::Int8RowKernels& k = cpu::int8_row_kernels(isa);
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
                          {.run = quantize<isa>, .supports = supports_quantize});
    k.add<DequantizeLinear>(
        {.op = "DequantizeLinear", .name = cpu::kernel_name("dequantize", isa), .isa = isa},
        {.run = dequantize<isa>, .supports = supports_dequantize});
    k.add<DequantizeLinear>(
        {.op = "DequantizeLinear", .name = cpu::kernel_name("dequantize.blocks", isa), .isa = isa},
        {.run = dequantize_blocks<isa>, .supports = supports_blocks, .workspace = blocks_workspace});
    k.add<QuantizeLinear>(
        {.op = "QuantizeLinear", .name = cpu::kernel_name("quantize.blocks", isa), .isa = isa},
        {.run = quantize_blocks<isa>, .supports = supports_quantize_blocks, .workspace = quantize_workspace});
    k.add<DynamicQuantizeLinear>(
        {.op = "DynamicQuantizeLinear", .name = cpu::kernel_name("dynamic_quantize", isa), .isa = isa},
        {.run = dynamic_quantize<isa>, .supports = supports_dynamic});
  });
}

}  // namespace lathe
