// Conv for float32: one kernel for constant weights, packed when the engine is built, and one that packs
// computed weights in every run.
#include "cpu/conv.h"

#include "ops/conv/conv.h"
#include "ops/conv_weights.h"

namespace lathe {
namespace {

cpu::ConvShape conv_shape(const Conv& op, const Shape& x, const Shape& w, const Shape& y) {
  cpu::ConvShape s{.batch = x[0], .groups = op.group, .in_channels = x[1], .out_channels = w[0]};
  const WindowAxes axes = op.axes(x, w, y);
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

/// The shape that packing depends on, which does not include the image.
cpu::ConvShape weights_shape(const Conv& op, const Shape& w) {
  Shape x(w.size(), 1), y(w.size(), 1);
  x[1] = w[1] * op.group;
  return conv_shape(op, x, w, y);
}

template <WeightsFrom kind>
Support supports(const Conv& op, const KernelQuery& r) {
  if (auto refusal = refuse_weights<kind>(r)) return *refusal;
  const KernelQuery::Operand& w = r.inputs[1];
  // Packing comes before the shape rule when a plan is opened.
  if (op.group < 1 || op.group > INT32_MAX || !op.window.counts_fit(w.shape->size() - 2))
    return Support::no("attributes that do not fit the weights");
  return Support::yes();
}

/// The number of floats that a run packs.
template <Isa isa>
int64_t packed_size(const Conv& op, const Shape& w) {
  return whole_lines_of(cpu::packed_conv_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w)));
}

template <Isa isa>
std::optional<PackedForm> packed_form(const Conv& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& w = *r.inputs[1].constant;
  return PackedForm{w.type(),
                    {cpu::packed_conv_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w.shape()))}};
}

template <Isa isa, bool f16>
void pack(const Conv& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  pack_weights<isa, f16>(w, to, workers, [&](const float* from, float* packed) {
    cpu::pack_conv_weights(cpu::gemm_kernels(isa), weights_shape(op, w.shape()), from, packed, workers);
  });
}

/// Bytes, of which the first are for weights that are packed in every run.
template <Isa isa, WeightsFrom kind>
size_t workspace_of(const Conv& op, const cpu::ConvShape& s, const Shape& w, int threads) {
  const int64_t packed = kind == WeightsFrom::given ? packed_size<isa>(op, w) : 0;
  return static_cast<size_t>(packed) * sizeof(float) +
         cpu::conv_workspace(cpu::gemm_kernels(isa), s, kind == WeightsFrom::f16, threads);
}

template <Isa isa, WeightsFrom kind>
size_t workspace(const Conv& op, std::span<const Shape> inputs, int threads) {
  const Shape y = output_shape(op, inputs);
  return workspace_of<isa, kind>(op, conv_shape(op, inputs[0], inputs[1], y), inputs[1], threads);
}

template <Isa isa, WeightsFrom kind>
void run(const Conv& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  Tensor& y = c.out(0);
  const Shape& w = c.in(1).shape();
  const cpu::ConvShape s = conv_shape(op, c.in(0).shape(), w, y.shape());
  auto* scratch = static_cast<float*>(c.workspace(workspace_of<isa, kind>(op, s, w, c.threads())));
  cpu::ConvWeights weights{.data = scratch};
  if constexpr (kind == WeightsFrom::given) {
    cpu::pack_conv_weights(g, weights_shape(op, w), cpu::floats(c.in(1)), scratch, c);
    scratch += packed_size<isa>(op, w);
  } else {
    weights = {c.packed(1)->data(), c.packed(1)->type()};
  }
  cpu::conv(isa, s, cpu::floats(c.in(0)), weights, cpu::floats(c, 2), cpu::floats(y), scratch, c);
}

template <Isa isa, WeightsFrom kind>
void add_packed(KernelCatalog& k, const char* name) {
  k.add<Conv>({.op = "Conv", .name = cpu::kernel_name(name, isa), .isa = isa, .fuses_epilogue = true},
              {.run = run<isa, kind>,
               .supports = supports<kind>,
               .packed_form = packed_form<isa>,
               .pack = pack<isa, kind == WeightsFrom::f16>,
               .workspace = workspace<isa, kind>});
}

}  // namespace

void cpu_conv(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add_packed<isa, WeightsFrom::packed>(k, "conv");
    add_packed<isa, WeightsFrom::f16>(k, "conv.f16");
    k.add<Conv>(
        {.op = "Conv", .name = cpu::kernel_name("conv.given", isa), .isa = isa, .fuses_epilogue = true},
        {.run = run<isa, WeightsFrom::given>,
         .supports = supports<WeightsFrom::given>,
         .workspace = workspace<isa, WeightsFrom::given>});
  });
}

}  // namespace lathe
