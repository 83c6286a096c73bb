#include "ops/blocked_conv_depthwise/blocked_conv_depthwise.h"

#include "cpu/nchw16c.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape but for what X decides.
cpu::ConvDepthwiseShape shape_of(const BlockedConvDepthwise& op, const Shape& w, const Shape& depthwise) {
  cpu::ConvDepthwiseShape s{.first = cpu::blocked_window(op.first, w),
                            .second = cpu::blocked_window(op.second, depthwise),
                            .between = {.op = std::nullopt, .a = op.alpha, .b = op.beta},
                            .pools = op.pools()};
  s.first.nchw = op.first.nchw_input;
  if (op.activation >= 0) s.between.op = static_cast<UnaryOp>(op.activation);
  return s;
}

/// `shape`: of an input.
template <class ShapeOf>
cpu::ConvDepthwiseShape shape_of(const BlockedConvDepthwise& op, ShapeOf&& shape) {
  const Shape& w = shape(1);
  cpu::ConvDepthwiseShape s =
      shape_of(op, w, op.pools() ? cpu::pool_weights(op.second.channels, op.pool) : shape(3));
  cpu::fit_conv_depthwise(s, op.first.window, op.second.window, shape(0), w.size() - 2);
  return s;
}

Shape second_weights(const BlockedConvDepthwise& op, const KernelQuery& r) {
  return op.pools() ? cpu::pool_weights(op.second.channels, op.pool) : r.inputs[3].constant->shape();
}

/// `writes_f16`: the output has 16 bits. No operator allows that mixture; the builder makes it.
template <bool writes_f16>
Support supports(const BlockedConvDepthwise& op, const KernelQuery& r) {
  if (r.outputs.size() > 1 && r.outputs[1].present && writes_f16)
    return Support::no("means of rows are not made");
  if (cpu::is_f16(r.outputs[0].type) != writes_f16)
    return Support::no(writes_f16 ? "the output has 32 bits" : "the output has 16 bits");
  if (auto no = cpu::refuse_unless_float32({r.inputs, r.outputs.list().subspan(writes_f16 ? 1 : 0), r.isa}))
    return *no;
  const Tensor *w = cpu::constant_input(r, 1), *depthwise = cpu::constant_input(r, 3);
  if (!w || (!depthwise && !op.pools())) return Support::no("the weights are not constant");
  const Shape second = second_weights(op, r);
  for (const Shape& s : {w->shape(), second})
    if (s.size() < 3 || s.size() > 4) return Support::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  return w->rank() == second.size() && op.fits(w->shape(), second)
             ? Support::yes()
             : Support::no("attributes that do not fit the weights");
}

/// The shape of a node that is supported.
cpu::ConvDepthwiseShape shape_of(const BlockedConvDepthwise& op, const KernelQuery& r) {
  return shape_of(op, r.inputs[1].constant->shape(), second_weights(op, r));
}

template <Isa isa>
std::optional<PackedForm> packed_form(const BlockedConvDepthwise& op, const KernelQuery& r, size_t i) {
  if (i != 1 && (i != 3 || op.pools())) return std::nullopt;
  const cpu::ConvDepthwiseShape s = shape_of(op, r);
  return PackedForm{
      DataType::float32,
      {i == 1 ? cpu::direct_weights_size(isa, s.first) : cpu::depthwise_weights_size(s.second)}};
}

template <Isa isa>
void pack(const BlockedConvDepthwise& op, const KernelQuery& r, size_t i, Tensor& to, Workers& workers) {
  const cpu::ConvDepthwiseShape s = shape_of(op, r);
  const float* const from = floats(*r.inputs[i].constant);
  if (i == 1)
    cpu::pack_direct_weights(isa, s.first, from, floats(to), workers);
  else
    cpu::pack_depthwise_weights(s.second, from, floats(to));
}

template <Isa isa, bool writes_f16>
size_t workspace(const BlockedConvDepthwise& op, std::span<const Shape> inputs, int threads) {
  const cpu::ConvDepthwiseShape s = shape_of(op, [&](size_t i) -> const Shape& { return inputs[i]; });
  return cpu::conv_depthwise_workspace(isa, s, writes_f16, threads);
}

template <Isa isa, bool writes_f16>
void run(const BlockedConvDepthwise& op, KernelContext& c) {
  const cpu::ConvDepthwiseShape s = shape_of(op, [&](size_t i) -> const Shape& { return c.in(i).shape(); });
  void* const scratch = c.workspace(cpu::conv_depthwise_workspace(isa, s, writes_f16, c.threads()));
  const cpu::ConvDepthwiseImages images{.x = floats(c.in(0)),
                                        .weights = floats(*c.packed(1)),
                                        .bias = floats(c, 2),
                                        .depthwise_weights = op.pools() ? nullptr : floats(*c.packed(3)),
                                        .depthwise_bias = op.pools() ? nullptr : floats(c, 4),
                                        .y = c.out(0).data(),
                                        .y_type = c.out(0).type(),
                                        .row_means = c.wants(1) ? floats(c.out(1)) : nullptr};
  cpu::conv_depthwise(isa, s, images, scratch, c);
}

template <Isa isa, bool writes_f16>
void add(KernelCatalog& k, std::string_view name) {
  k.add<BlockedConvDepthwise>({.op = "BlockedConvDepthwise",
                               .domain = "lathe",
                               .name = cpu::kernel_name(name, isa),
                               .isa = isa,
                               .fuses_epilogue = true,
                               .writes_f16 = writes_f16},
                              {.run = run<isa, writes_f16>,
                               .supports = supports<writes_f16>,
                               .packed_form = packed_form<isa>,
                               .pack = pack<isa>,
                               .workspace = workspace<isa, writes_f16>});
}

}  // namespace

void cpu_blocked_conv_depthwise(KernelCatalog& k) {
  k.replaces("BlockedConvDepthwise", {"Conv", "MaxPool"});
  cpu::for_each_isa([&]<Isa isa>() {
    add<isa, false>(k, "blocked_conv_depthwise");
    add<isa, true>(k, "blocked_conv_depthwise.f16_activations");
  });
}

}  // namespace lathe
