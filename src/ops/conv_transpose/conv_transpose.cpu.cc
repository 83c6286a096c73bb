// ConvTranspose for float32: one kernel for constant weights, packed when the engine is built, and one that
// packs computed weights in every run.
#include "ops/conv_transpose/conv_transpose.h"

#include "cpu/conv.h"
#include "ops/conv_weights.h"

namespace lathe {
namespace {

/// Fewer than three spatial axes are axes of size 1 in front.
cpu::TransposedShape transposed_shape(const ConvTranspose& op, const Shape& x, const Shape& w,
                                      const Shape& y) {
  cpu::TransposedShape s{
      .batch = x[0], .groups = op.group, .in_channels = w[1] * op.group, .out_channels = w[0]};
  const WindowAxes axes = op.axes(x, w, y);
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
cpu::TransposedShape weights_shape(const ConvTranspose& op, const Shape& w) {
  cpu::TransposedShape s{.groups = op.group, .in_channels = w[1] * op.group, .out_channels = w[0]};
  std::copy(w.begin() + 2, w.end(), s.kernel + (5 - w.size()));
  return s;
}

template <WeightsFrom kind>
Support supports(const ConvTranspose& op, const KernelQuery& r) {
  if (auto refusal = refuse_weights<kind>(r)) return *refusal;
  const KernelQuery::Operand& w = r.inputs[1];
  // Packing comes before the shape rule when a plan is opened.
  if (op.group < 1 || op.group > INT32_MAX || (w.constant && w.constant->dim(0) % op.group != 0))
    return Support::no("groups that do not fit the weights");
  return Support::yes();
}

/// The number of floats that a run packs.
template <Isa isa>
int64_t packed_size(const ConvTranspose& op, const Shape& w) {
  return whole_lines_of(cpu::packed_transposed_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w)));
}

template <Isa isa>
std::optional<PackedForm> packed_form(const ConvTranspose& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& w = *r.inputs[1].constant;
  return PackedForm{
      w.type(), {cpu::packed_transposed_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w.shape()))}};
}

template <Isa isa, bool f16>
void pack(const ConvTranspose& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  pack_weights<isa, f16>(w, to, workers, [&](const float* from, float* packed) {
    cpu::pack_transposed_weights(cpu::gemm_kernels(isa), weights_shape(op, w.shape()), from, packed, workers);
  });
}

/// Bytes, of which the first are for weights that are packed in every run.
template <Isa isa, WeightsFrom kind>
size_t workspace_of(const ConvTranspose& op, const cpu::TransposedShape& s, const Shape& w, int threads) {
  const size_t work = cpu::transposed_workspace(cpu::gemm_kernels(isa), s, kind == WeightsFrom::f16, threads);
  const bool packs = kind == WeightsFrom::given && work > 0;
  return work + (packs ? static_cast<size_t>(packed_size<isa>(op, w)) * sizeof(float) : 0);
}

template <Isa isa, WeightsFrom kind>
size_t workspace(const ConvTranspose& op, std::span<const Shape> inputs, int threads) {
  const cpu::TransposedShape s = transposed_shape(op, inputs[0], inputs[1], output_shape(op, inputs));
  return workspace_of<isa, kind>(op, s, inputs[1], threads);
}

template <Isa isa, WeightsFrom kind>
void run(const ConvTranspose& op, KernelContext& c) {
  Tensor& y = c.out(0);
  const Shape& w = c.in(1).shape();
  const cpu::TransposedShape s = transposed_shape(op, c.in(0).shape(), w, y.shape());
  const size_t size = workspace_of<isa, kind>(op, s, w, c.threads());
  auto* scratch = size > 0 ? static_cast<float*>(c.workspace(size)) : nullptr;
  cpu::ConvWeights weights{.data = scratch};
  if constexpr (kind != WeightsFrom::given) {
    weights = {c.packed(1)->data(), c.packed(1)->type()};
  } else if (scratch) {
    cpu::pack_transposed_weights(cpu::gemm_kernels(isa), weights_shape(op, w), cpu::floats(c.in(1)), scratch,
                                 c);
    scratch += packed_size<isa>(op, w);
  }
  cpu::conv_transpose(isa, s, cpu::floats(c.in(0)), weights, cpu::floats(c, 2), cpu::floats(y), scratch, c);
}

template <Isa isa, WeightsFrom kind>
void add_packed(KernelCatalog& k, const char* name) {
  k.add<ConvTranspose>(
      {.op = "ConvTranspose", .name = cpu::kernel_name(name, isa), .isa = isa, .fuses_epilogue = true},
      {.run = run<isa, kind>,
       .supports = supports<kind>,
       .packed_form = packed_form<isa>,
       .pack = pack<isa, kind == WeightsFrom::f16>,
       .workspace = workspace<isa, kind>});
}

}  // namespace

void cpu_conv_transpose(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add_packed<isa, WeightsFrom::packed>(k, "conv_transpose");
    add_packed<isa, WeightsFrom::f16>(k, "conv_transpose.f16");
    k.add<ConvTranspose>({.op = "ConvTranspose",
                          .name = cpu::kernel_name("conv_transpose.given", isa),
                          .isa = isa,
                          .fuses_epilogue = true},
                         {.run = run<isa, WeightsFrom::given>,
                          .supports = supports<WeightsFrom::given>,
                          .workspace = workspace<isa, WeightsFrom::given>});
  });
}

}  // namespace lathe
