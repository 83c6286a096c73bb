// Bf16BlockedConv: direct convolution whose products are of bfloat16.
#include "cpu/nchw16c.h"
#include "cpu/support.h"
#include "ops/blocked_conv/blocked_conv.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape without the sizes that X decides.
cpu::BlockedShape shape_of(const Bf16BlockedConv& op, const Shape& w) {
  cpu::BlockedShape s = cpu::blocked_window(op, w);
  s.bf16_dot2 = true;
  return s;
}
cpu::BlockedShape shape_of(const Bf16BlockedConv& op, const Shape& x, const Shape& w) {
  cpu::BlockedShape s = shape_of(op, w);
  cpu::fit_image(s, op.window, x, w.size() - 2);
  return s;
}

Support supports(const Bf16BlockedConv& op, const KernelQuery& r) {
  if (auto no = cpu::refuse_unless_float32_with_weights(r, 1)) return *no;
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w || w->type() != DataType::bfloat16 || r.inputs[1].type != DataType::bfloat16)
    return Support::no("W is no constant of bfloat16");
  if (w->rank() < 3 || w->rank() > 4) return Support::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  if (!op.fits(w->shape())) return Support::no("attributes that do not fit the weights");
  if (op.scaled || op.gated) return Support::no("its input is not scaled");
  if (r.outputs.size() > 1 && r.outputs[1].present) return Support::no("means of rows are not made");
  return op.group > 1 || op.nchw_input ? Support::no("in groups, or an image that is not in blocks")
                                       : Support::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const Bf16BlockedConv& op, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  return PackedForm{DataType::bfloat16,
                    {2 * cpu::direct_weights_size(isa, shape_of(op, r.inputs[1].constant->shape()))}};
}

template <Isa isa>
void pack(const Bf16BlockedConv& op, const KernelQuery& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  cpu::pack_bf16_pair_weights(isa, shape_of(op, w.shape()), w.as<BFloat16>().data(), to.as<BFloat16>().data(),
                              workers);
}

template <Isa isa>
size_t workspace(const Bf16BlockedConv& op, std::span<const Shape> inputs, int threads) {
  return cpu::direct_workspace(isa, shape_of(op, inputs[0], inputs[1]), false, threads);
}

template <Isa isa>
void run(const Bf16BlockedConv& op, KernelContext& c) {
  const cpu::BlockedShape s = shape_of(op, c.in(0).shape(), c.in(1).shape());
  void* const scratch = c.workspace(cpu::direct_workspace(isa, s, false, c.threads()));
  const cpu::BlockedImages images{
      .x = floats(c.in(0)), .weights = c.packed(1)->data(), .bias = floats(c, 2), .y = floats(c.out(0))};
  cpu::direct_convolution(isa, s, images, scratch, c);
}

}  // namespace

/// Called by blocked_conv.cpu.cc.
void cpu_bf16_blocked_conv(KernelCatalog& k) {
  k.replaces("Bf16BlockedConv", {"Conv"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Bf16BlockedConv>({.op = "Bf16BlockedConv",
                            .domain = "lathe",
                            .name = cpu::kernel_name("bf16_blocked_conv", isa),
                            .isa = isa,
                            .fuses_epilogue = true},
                           {.run = run<isa>,
                            .supports = supports,
                            .packed_form = packed_form<isa>,
                            .pack = pack<isa>,
                            .workspace = workspace<isa>});
  });
}

}  // namespace lathe
