// NarrowBlockedConv: direct convolution whose products are of bfloat16.
#include "cpu/ask.h"
#include "cpu/blocked.h"
#include "cpu/blocked_shape.h"
#include "ops/blocked_conv/blocked_conv.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape but for what X decides.
cpu::BlockedShape shape_of(const NarrowBlockedConv& op, const Shape& w) {
  cpu::BlockedShape s = cpu::blocked_window(op, w);
  s.pairs = true;
  return s;
}
cpu::BlockedShape shape_of(const NarrowBlockedConv& op, const Shape& x, const Shape& w) {
  cpu::BlockedShape s = shape_of(op, w);
  cpu::fit_image(s, op.window, x, w.size() - 2);
  return s;
}

Verdict ask(const NarrowBlockedConv& op, const KernelRequest& r) {
  if (auto no = cpu::refuse_unless_float32_with_weights(r, 1)) return *no;
  const Tensor* w = cpu::constant_input(r, 1);
  if (!w || w->type() != DataType::bfloat16 || r.inputs[1].type != DataType::bfloat16)
    return Verdict::no("W is no constant of bfloat16");
  if (w->rank() < 3 || w->rank() > 4) return Verdict::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  if (!op.fits(w->shape())) return Verdict::no("attributes that do not fit the weights");
  if (op.scaled || op.gated) return Verdict::no("its input is not scaled");
  if (r.outputs.size() > 1 && r.outputs[1].present) return Verdict::no("means of rows are not made");
  return op.group > 1 || op.plain_input ? Verdict::no("in groups, or an image that is not in blocks")
                                        : Verdict::yes();
}

template <Isa isa>
std::optional<PackedForm> packed_form(const NarrowBlockedConv& op, const KernelRequest& r, size_t i) {
  if (i != 1) return std::nullopt;
  return PackedForm{DataType::bfloat16,
                    {2 * cpu::direct_weights_size(isa, shape_of(op, r.inputs[1].constant->shape()))}};
}

template <Isa isa>
void pack(const NarrowBlockedConv& op, const KernelRequest& r, size_t, Tensor& to, Workers& workers) {
  const Tensor& w = *r.inputs[1].constant;
  cpu::pack_pair_weights(isa, shape_of(op, w.shape()), w.as<BFloat16>().data(), to.as<BFloat16>().data(),
                         workers);
}

template <Isa isa>
size_t workspace(const NarrowBlockedConv& op, std::span<const Shape> inputs, int threads) {
  return cpu::direct_workspace(isa, shape_of(op, inputs[0], inputs[1]), false, threads);
}

template <Isa isa>
void run(const NarrowBlockedConv& op, KernelContext& c) {
  const cpu::BlockedShape s = shape_of(op, c.in(0).shape(), c.in(1).shape());
  void* const scratch = c.workspace(cpu::direct_workspace(isa, s, false, c.threads()));
  const cpu::BlockedImages images{
      .x = floats(c.in(0)), .weights = c.packed(1)->data(), .bias = floats(c, 2), .y = floats(c.out(0))};
  cpu::direct_convolution(isa, s, images, scratch, c);
}

}  // namespace

/// Of the other file.
void cpu_narrow_blocked_conv(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<NarrowBlockedConv>({.op = "NarrowBlockedConv",
                              .domain = "lathe",
                              .name = cpu::kernel_name("narrow_blocked_conv", isa),
                              .isa = isa,
                              .finishes = true},
                             {.run = run<isa>,
                              .ask = ask,
                              .packed_form = packed_form<isa>,
                              .pack = pack<isa>,
                              .workspace = workspace<isa>});
  });
}

}  // namespace lathe
