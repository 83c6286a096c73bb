#include "ops/blocked_pool/blocked_pool.h"

#include "cpu/nchw16c.h"
#include "cpu/quantized.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::floats;

/// The two spatial axes; a single one is the second.
std::array<WindowAxis, 2> axes_of(const Pooling& op, const Shape& x, const Shape& y) {
  std::array<WindowAxis, 2> axes;
  const size_t spatial = x.size() - 3;
  for (size_t i = 0; i < spatial; ++i)
    axes[2 - spatial + i] = op.window.axis(i, x[i + 2], op.kernel_shape[i], y[i + 2]);
  return axes;
}

cpu::BlockedShape shape_of(const std::array<WindowAxis, 2>& axes, const Shape& x) {
  const int64_t channels = x[1] * cpu::channel_block;
  cpu::BlockedShape s{.batch = x[0], .channels = channels, .filters = channels};
  for (size_t i = 0; i < 2; ++i) {
    s.in[i] = axes[i].in;
    s.out[i] = axes[i].out;
    s.kernel[i] = axes[i].kernel;
    s.stride[i] = axes[i].stride;
    s.dilation[i] = axes[i].dilation;
    s.pad[i] = axes[i].pad_begin;
  }
  return s;
}

template <class Op>
Shape output_shape(const Op& op, const Shape& x) {
  Fact<int64_t> in, out;
  in.present = in.ranked = out.present = true;
  in.shape.assign(x.begin(), x.end());
  ShapeContext<int64_t> c({&in, 1}, {&out, 1});
  op.shape(c);
  return Shape(out.shape.begin(), out.shape.end());
}

template <Isa isa>
void max_pool(const BlockedMaxPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  cpu::blocked_maximum(isa, shape_of(axes_of(op, x.shape(), y.shape()), x.shape()), floats(x), floats(y), c);
}

Support supports_f16(const BlockedMaxPool&, const KernelQuery& r) {
  return cpu::has_f16_activations(r) ? Support::yes() : Support::no("neither image has 16 bits");
}
template <Isa isa>
void max_pool_f16(const BlockedMaxPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const cpu::BlockedShape s = shape_of(axes_of(op, x.shape(), c.out(0).shape()), x.shape());
  const cpu::ImageStrips strips(s);
  void* const scratch = c.workspace(strips.workspace([](const cpu::BlockedShape&) { return size_t{0}; }));
  strips.run(isa, x, scratch, c,
             [](const cpu::BlockedShape& of, int64_t, const float* from, float* to, void*,
                KernelContext& here) { cpu::blocked_maximum(isa, of, from, to, here); });
}
size_t f16_workspace(const BlockedMaxPool& op, std::span<const Shape> inputs, int) {
  const Shape y = output_shape(op, inputs[0]);
  if (y.size() < 4 || y.size() > 5) return 0;  // the shape rule says what is wrong
  return cpu::ImageStrips(shape_of(axes_of(op, inputs[0], y), inputs[0]))
      .workspace([](const cpu::BlockedShape&) { return size_t{0}; });
}

/// Supports images of uint8.
Support supports_int8(const BlockedMaxPool&, const KernelQuery& r) {
  if (r.inputs[0].type != DataType::uint8 || r.outputs[0].type != DataType::uint8)
    return Support::no("only uint8");
  return Support::yes();
}
void max_pool_int8(const BlockedMaxPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  cpu::int8_maximum(shape_of(axes_of(op, x.shape(), y.shape()), x.shape()), x.as<uint8_t>().data(),
                    y.as<uint8_t>().data(), c);
}

/// 1 / the number of elements that each window of an axis counts; 0 for a window of none.
void factors(const BlockedAveragePool& op, const WindowAxis& axis, float* to) {
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t n = op.count_include_pad ? axis.count_padded(o) : axis.end_inside(o) - axis.first_inside(o);
    to[o] = n > 0 ? 1.0f / static_cast<float>(n) : 0.0f;
  }
}

size_t factor_bytes(const Shape& y) {
  int64_t n = y.size() > 4 ? 0 : 1;
  for (size_t i = 2; i + 1 < y.size(); ++i) n += y[i];
  return static_cast<size_t>(n) * sizeof(float);
}

size_t average_workspace(const BlockedAveragePool& op, std::span<const Shape> inputs, int) {
  return factor_bytes(output_shape(op, inputs[0]));
}

template <Isa isa>
void average_pool(const BlockedAveragePool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const auto axes = axes_of(op, x.shape(), y.shape());
  auto* const rows = static_cast<float*>(c.workspace(factor_bytes(y.shape())));
  float* const columns = rows + axes[0].out;
  factors(op, axes[0], rows);
  factors(op, axes[1], columns);
  cpu::blocked_average(isa, shape_of(axes, x.shape()), rows, columns, floats(x), floats(y), c);
}

template <Isa isa>
void global_average_pool(const BlockedGlobalPool&, KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t pixels = 1;
  for (size_t a = 2; a + 1 < x.rank(); ++a) pixels *= x.dim(a);
  cpu::blocked_mean(isa, x.dim(0) * x.dim(1), pixels, floats(x), floats(c.out(0)), c);
}

Kernel kernel(const char* op, const char* name, Isa isa) {
  return {
      .op = op, .domain = "lathe", .name = cpu::kernel_name(name, isa), .isa = isa, .fuses_epilogue = true};
}

}  // namespace

void cpu_blocked_pool(KernelCatalog& k) {
  k.replaces("BlockedMaxPool", {"MaxPool"});
  k.replaces("BlockedAveragePool", {"AveragePool"});
  k.replaces("BlockedGlobalAveragePool", {"GlobalAveragePool"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<BlockedMaxPool>(kernel("BlockedMaxPool", "blocked_max_pool", isa),
                          {.run = max_pool<isa>, .supports = cpu::supports_float32<BlockedMaxPool>});
    Kernel of_f16 = kernel("BlockedMaxPool", "blocked_max_pool.f16_activations", isa);
    of_f16.writes_f16 = true;
    k.add<BlockedMaxPool>(std::move(of_f16),
                          {.run = max_pool_f16<isa>, .supports = supports_f16, .workspace = f16_workspace});
    k.add<BlockedAveragePool>(kernel("BlockedAveragePool", "blocked_average_pool", isa),
                              {.run = average_pool<isa>,
                               .supports = cpu::supports_float32<BlockedAveragePool>,
                               .workspace = average_workspace});
    k.add<BlockedGlobalPool>(
        kernel("BlockedGlobalAveragePool", "blocked_global_average_pool", isa),
        {.run = global_average_pool<isa>, .supports = cpu::supports_float32<BlockedGlobalPool>});
  });
  Kernel of_int8 = kernel("BlockedMaxPool", "blocked_max_pool.int8", Isa::generic);
  of_int8.fuses_epilogue = false;
  k.add<BlockedMaxPool>(std::move(of_int8), {.run = max_pool_int8, .supports = supports_int8});
}

}  // namespace lathe
