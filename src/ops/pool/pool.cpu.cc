// Pooling of float32: windows slide over padded rows in scratch like depthwise convolution, those of volumes
// after their slices were joined; the global ones are reductions.
#include "ops/pool/pool.h"

#include <limits>

#include "cpu/conv.h"
#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using cpu::floats;

cpu::ConvShape planes_of(const Pooling& op, const Shape& x, const Shape& y) {
  cpu::ConvShape s{.batch = x[0], .groups = x[1], .in_channels = x[1], .out_channels = x[1]};
  const WindowAxes axes = op.axes(x, y);
  s.volume = axes.size() > 2;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t at = 3 - axes.size() + i;
    s.in[at] = axes[i].in;
    s.out[at] = axes[i].out;
    s.kernel[at] = axes[i].kernel;
    s.stride[at] = axes[i].stride;
    s.dilation[at] = axes[i].dilation;
    s.pad[at] = axes[i].pad_begin;
  }
  return s;
}

Shape output_shape(const Pooling& op, const Shape& x) {
  Fact<int64_t> in;
  in.present = in.ranked = true;
  in.shape.assign(x.begin(), x.end());
  ShapeContext<int64_t> c({&in, 1}, {});
  const std::vector<int64_t> y = op.pooled(c);
  return Shape(y.begin(), y.end());
}

template <class Op>
Support supports(const Op& op, const KernelQuery& r) {
  if (r.outputs.size() > 1 && r.outputs[1].present) return Support::no("no positions of the maxima");
  if (auto refusal = cpu::refuse_unless_float32(r)) return *refusal;
  if (op.kernel_shape.size() > 3) return Support::no("more than three spatial axes");
  Shape one(op.kernel_shape.size() + 2, 1);
  if (!cpu::fits_planes(planes_of(op, one, one)))
    return Support::no("a window too large for the rows kept in scratch");
  return Support::yes();
}

template <class Op>
size_t workspace(const Op& op, std::span<const Shape> inputs, int threads) {
  const Shape y = output_shape(op, inputs[0]);
  if (count_of(y) == 0) return 0;
  return cpu::planes_workspace(planes_of(op, inputs[0], y), threads);
}

template <Isa isa>
void max_pool(const MaxPool& op, KernelContext& c) {
  Tensor& y = c.out(0);
  if (y.size() == 0) return;
  const cpu::ConvShape s = planes_of(op, c.in(0).shape(), y.shape());
  cpu::planes(
      cpu::conv_kernels(isa).maximum,
      {.shape = s, .x = floats(c.in(0)), .start = -std::numeric_limits<float>::infinity(), .y = floats(y)},
      c.workspace(cpu::planes_workspace(s, c.threads())), c);
}

/// 1 / the number of elements that each window of an axis counts; 0 for one that counts none: dilated over
/// few elements, its taps may all be padding.
void factors(const AveragePool& op, const WindowAxis& axis, float* to, KernelContext& c) {
  Poller(c).pieces(axis.out, 4, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const int64_t n =
          op.count_include_pad ? axis.count_padded(o) : axis.end_inside(o) - axis.first_inside(o);
      to[o] = n > 0 ? 1.0f / static_cast<float>(n) : 0.0f;
    }
  });
}

size_t factor_bytes(const cpu::ConvShape& s) {
  return static_cast<size_t>(s.out[0] + s.out[1] + s.out[2] + 15) / 16 * 16 * sizeof(float);
}

size_t average_workspace(const AveragePool& op, std::span<const Shape> inputs, int threads) {
  const Shape y = output_shape(op, inputs[0]);
  if (count_of(y) == 0) return 0;
  const cpu::ConvShape s = planes_of(op, inputs[0], y);
  return factor_bytes(s) + cpu::planes_workspace(s, threads);
}

template <Isa isa>
void average_pool(const AveragePool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  if (y.size() == 0) return;
  const cpu::ConvShape s = planes_of(op, x.shape(), y.shape());
  const WindowAxes axes = op.axes(x.shape(), y.shape());
  float* const workspace =
      static_cast<float*>(c.workspace(factor_bytes(s) + cpu::planes_workspace(s, c.threads())));
  float* const by_axis[] = {workspace, workspace + s.out[0], workspace + s.out[0] + s.out[1]};
  for (size_t i = 0; i < 3; ++i) {
    if (i + axes.size() < 3)
      *by_axis[i] = 1;
    else
      factors(op, axes[i + axes.size() - 3], by_axis[i], c);
  }
  cpu::planes(cpu::conv_kernels(isa).weighted_sum,
              {.shape = s,
               .x = floats(x),
               .slice_factor = by_axis[0],
               .row_factor = by_axis[1],
               .column_factor = by_axis[2],
               .y = floats(y)},
              workspace + factor_bytes(s) / sizeof(float), c);
}

template <cpu::ReduceOp function, Isa isa>
void global_pool(const GlobalPool&, KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t n = 1;
  for (size_t a = 2; a < x.rank(); ++a) n *= x.dim(a);
  const float factor = function == cpu::ReduceOp::sum ? 1.0f / static_cast<float>(n) : 1.0f;
  cpu::reduce(isa, function, floats(x), floats(c.out(0)), x.dim(0) * x.dim(1), n, 1, factor, c.epilogue(), c);
}

}  // namespace

void cpu_pool_powers(KernelCatalog& k);
void cpu_pool_maxima(KernelCatalog& k);

void cpu_pool(KernelCatalog& k) {
  cpu_pool_powers(k);
  cpu_pool_maxima(k);
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<MaxPool>(
        {.op = "MaxPool", .name = cpu::kernel_name("max_pool", isa), .isa = isa, .fuses_epilogue = true},
        {.run = max_pool<isa>, .supports = supports<MaxPool>, .workspace = workspace<MaxPool>});
    k.add<AveragePool>(
        {.op = "AveragePool",
         .name = cpu::kernel_name("average_pool", isa),
         .isa = isa,
         .fuses_epilogue = true},
        {.run = average_pool<isa>, .supports = supports<AveragePool>, .workspace = average_workspace});
    k.add<GlobalPool>(
        {.op = "GlobalAveragePool",
         .name = cpu::kernel_name("global_average_pool", isa),
         .isa = isa,
         .fuses_epilogue = true},
        {.run = global_pool<cpu::ReduceOp::sum, isa>, .supports = cpu::supports_float32<GlobalPool>});
    k.add<GlobalPool>(
        {.op = "GlobalMaxPool",
         .name = cpu::kernel_name("global_max_pool", isa),
         .isa = isa,
         .fuses_epilogue = true},
        {.run = global_pool<cpu::ReduceOp::maximum, isa>, .supports = cpu::supports_float32<GlobalPool>});
  });
}

}  // namespace lathe
