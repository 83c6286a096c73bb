// Conv for float32: one kernel for constant weights, packed when the engine is built, and one that packs in
// every run what a caller may give.
#include "cpu/conv.h"

#include "cpu/ask.h"
#include "ops/conv/conv.h"

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

/// What packing depends on: not the image.
cpu::ConvShape weights_shape(const Conv& op, const Shape& w) {
  Shape x(w.size(), 1), y(w.size(), 1);
  x[1] = w[1] * op.group;
  return conv_shape(op, x, w, y);
}

Shape output_shape(const Conv& op, const Shape& x, const Shape& w) {
  Fact<int64_t> in[2], out;
  for (auto [fact, shape] : {std::pair{&in[0], &x}, std::pair{&in[1], &w}}) {
    fact->present = fact->ranked = true;
    fact->shape.assign(shape->begin(), shape->end());
  }
  ShapeContext<int64_t> c(in, {&out, 1});
  op.shape(c);
  return Shape(out.shape.begin(), out.shape.end());
}

/// Where a kernel's weights come from: packed constants of float32 or of 16 bits, or a run.
enum class Weights : uint8_t { packed, half, given };

template <Weights kind>
Verdict ask(const Conv& op, const KernelRequest& r) {
  constexpr bool constant = kind != Weights::given;
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  const KernelRequest::Operand& w = r.inputs[1];
  if (constant && !w.constant) return Verdict::no("the weights are not constant");
  if (!constant && w.constant) return Verdict::no("the weights are constant, better packed once");
  if (cpu::is_half(w.type) != (kind == Weights::half))
    return Verdict::no(kind == Weights::half ? "weights not of 16 bits" : "weights not of float32");
  if (!w.shape) return Verdict::no("weights of unknown rank");
  if (w.shape->size() < 3) return Verdict::no("no spatial axis");
  if (w.shape->size() > 5) return Verdict::no("more than three spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  if (op.group < 1 || op.group > INT32_MAX || !op.window.counts_fit(w.shape->size() - 2))
    return Verdict::no("attributes that do not fit the weights");
  return Verdict::yes();
}

/// Floats, in whole cache lines: the scratch memory follows.
template <Isa isa>
int64_t packed_size(const Conv& op, const Shape& w) {
  constexpr int64_t line = 16;
  const int64_t n = cpu::packed_conv_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w));
  return (n + line - 1) / line * line;
}

template <Isa isa>
std::optional<PackedForm> packed_form(const Conv& op, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  const Tensor& w = *r.inputs[1].constant;
  return PackedForm{w.type(),
                    {cpu::packed_conv_weights_size(cpu::gemm_kernels(isa), weights_shape(op, w.shape()))}};
}

template <Isa isa, bool half>
void pack(const Conv& op, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  const auto pack_floats = [&](const float* from, float* packed) {
    cpu::pack_conv_weights(cpu::gemm_kernels(isa), weights_shape(op, w.shape()), from, packed, workers);
  };
  if constexpr (half)
    cpu::pack_narrow(isa, w, to, workers, pack_floats);
  else
    pack_floats(cpu::floats(w), cpu::floats(to));
}

/// Bytes, of which the first are for weights that are packed in every run.
template <Isa isa, Weights kind>
size_t workspace_of(const Conv& op, const cpu::ConvShape& s, const Shape& w, int threads) {
  const int64_t packed = kind == Weights::given ? packed_size<isa>(op, w) : 0;
  return static_cast<size_t>(packed) * sizeof(float) +
         cpu::conv_workspace(cpu::gemm_kernels(isa), s, kind == Weights::half, threads);
}

template <Isa isa, Weights kind>
size_t workspace(const Conv& op, std::span<const Shape> inputs, int threads) {
  const Shape y = output_shape(op, inputs[0], inputs[1]);
  return workspace_of<isa, kind>(op, conv_shape(op, inputs[0], inputs[1], y), inputs[1], threads);
}

template <Isa isa, Weights kind>
void run(const Conv& op, KernelContext& c) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  Tensor& y = c.out(0);
  const Shape& w = c.in(1).shape();
  const cpu::ConvShape s = conv_shape(op, c.in(0).shape(), w, y.shape());
  auto* scratch = static_cast<float*>(c.workspace(workspace_of<isa, kind>(op, s, w, c.threads())));
  cpu::ConvWeights weights{.data = scratch};
  if constexpr (kind == Weights::given) {
    cpu::pack_conv_weights(g, weights_shape(op, w), cpu::floats(c.in(1)), scratch, c);
    scratch += packed_size<isa>(op, w);
  } else {
    weights = {c.packed(1)->data(), c.packed(1)->type()};
  }
  cpu::conv(isa, s, cpu::floats(c.in(0)), weights, cpu::floats(c, 2), cpu::floats(y), scratch, c);
}

template <Isa isa, Weights kind>
void add_packed(KernelCatalog& k, const char* name) {
  k.add<Conv>({.op = "Conv", .name = cpu::kernel_name(name, isa), .isa = isa, .finishes = true},
              {.run = run<isa, kind>,
               .ask = ask<kind>,
               .packed_form = packed_form<isa>,
               .pack = pack<isa, kind == Weights::half>,
               .workspace = workspace<isa, kind>});
}

}  // namespace

void cpu_conv(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add_packed<isa, Weights::packed>(k, "conv");
    add_packed<isa, Weights::half>(k, "conv.half");
    k.add<Conv>({.op = "Conv", .name = cpu::kernel_name("conv.given", isa), .isa = isa, .finishes = true},
                {.run = run<isa, Weights::given>,
                 .ask = ask<Weights::given>,
                 .workspace = workspace<isa, Weights::given>});
  });
}

}  // namespace lathe
