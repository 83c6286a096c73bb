#include "cpu/blocked_pair.h"

#include "cpu/ask.h"
#include "ops/blocked_pair/blocked_pair.h"

namespace lathe {
namespace {

using cpu::floats;

/// The shape but for what X decides.
cpu::PairShape shape_of(const BlockedConvPair& op, const Shape& w, const Shape& depthwise) {
  cpu::PairShape s{.first = cpu::blocked_window(op.first, w),
                   .second = cpu::blocked_window(op.second, depthwise),
                   .between = {.op = std::nullopt, .a = op.alpha, .b = op.beta},
                   .pools = op.pools()};
  s.first.plain = op.first.plain_input;
  if (op.activation >= 0) s.between.op = static_cast<UnaryOp>(op.activation);
  return s;
}

/// `shape`: of an input.
template <class ShapeOf>
cpu::PairShape shape_of(const BlockedConvPair& op, ShapeOf&& shape) {
  const Shape& w = shape(1);
  cpu::PairShape s = shape_of(op, w, op.pools() ? cpu::pool_weights(op.second.channels, op.pool) : shape(3));
  cpu::fit_pair(s, op.first.window, op.second.window, shape(0), w.size() - 2);
  return s;
}

Shape second_weights(const BlockedConvPair& op, const KernelRequest& r) {
  return op.pools() ? cpu::pool_weights(op.second.channels, op.pool) : r.inputs[3].constant->shape();
}

/// `narrows`: is the output to be of 16 bits? No operator allows the mixture; the builder makes it.
template <bool narrows>
Verdict ask(const BlockedConvPair& op, const KernelRequest& r) {
  if (r.outputs.size() > 1 && r.outputs[1].present && narrows)
    return Verdict::no("means of rows are not made");
  if (cpu::is_half(r.outputs[0].type) != narrows)
    return Verdict::no(narrows ? "the output has 32 bits" : "the output has 16 bits");
  if (auto no = cpu::refuse_unless_float32({r.inputs, r.outputs.subspan(narrows ? 1 : 0), r.isa})) return *no;
  const Tensor *w = cpu::constant_input(r, 1), *depthwise = cpu::constant_input(r, 3);
  if (!w || (!depthwise && !op.pools())) return Verdict::no("the weights are not constant");
  const Shape second = second_weights(op, r);
  for (const Shape& s : {w->shape(), second})
    if (s.size() < 3 || s.size() > 4) return Verdict::no("neither one nor two spatial axes");
  // Packing comes before the shape rule when a plan is opened.
  return w->rank() == second.size() && op.fits(w->shape(), second)
             ? Verdict::yes()
             : Verdict::no("attributes that do not fit the weights");
}

/// Of what can be run.
cpu::PairShape shape_of(const BlockedConvPair& op, const KernelRequest& r) {
  return shape_of(op, r.inputs[1].constant->shape(), second_weights(op, r));
}

template <Isa isa>
std::optional<PackedForm> packed_form(const BlockedConvPair& op, const KernelRequest& r, size_t i) {
  if (i != 1 && (i != 3 || op.pools())) return std::nullopt;
  const cpu::PairShape s = shape_of(op, r);
  return PackedForm{
      DataType::float32,
      {i == 1 ? cpu::direct_weights_size(isa, s.first) : cpu::depthwise_weights_size(s.second)}};
}

template <Isa isa>
void pack(const BlockedConvPair& op, const KernelRequest& r, size_t i, Tensor& to, Workers& workers) {
  const cpu::PairShape s = shape_of(op, r);
  const float* const from = floats(*r.inputs[i].constant);
  if (i == 1)
    cpu::pack_direct_weights(isa, s.first, from, floats(to), workers);
  else
    cpu::pack_depthwise_weights(s.second, from, floats(to));
}

template <Isa isa, bool narrows>
size_t workspace(const BlockedConvPair& op, std::span<const Shape> inputs, int threads) {
  const cpu::PairShape s = shape_of(op, [&](size_t i) -> const Shape& { return inputs[i]; });
  return cpu::pair_workspace(isa, s, narrows, threads);
}

template <Isa isa, bool narrows>
void run(const BlockedConvPair& op, KernelContext& c) {
  const cpu::PairShape s = shape_of(op, [&](size_t i) -> const Shape& { return c.in(i).shape(); });
  void* const scratch = c.workspace(cpu::pair_workspace(isa, s, narrows, c.threads()));
  const cpu::PairImages images{.x = floats(c.in(0)),
                               .weights = floats(*c.packed(1)),
                               .bias = floats(c, 2),
                               .depthwise_weights = op.pools() ? nullptr : floats(*c.packed(3)),
                               .depthwise_bias = op.pools() ? nullptr : floats(c, 4),
                               .y = c.out(0).data(),
                               .y_type = c.out(0).type(),
                               .row_means = c.wants(1) ? floats(c.out(1)) : nullptr};
  cpu::convolution_pair(isa, s, images, scratch, c);
}

template <Isa isa, bool narrows>
void add(KernelCatalog& k, std::string_view name) {
  k.add<BlockedConvPair>({.op = "BlockedConvPair",
                          .domain = "lathe",
                          .name = cpu::kernel_name(name, isa),
                          .isa = isa,
                          .finishes = true,
                          .narrows = narrows},
                         {.run = run<isa, narrows>,
                          .ask = ask<narrows>,
                          .packed_form = packed_form<isa>,
                          .pack = pack<isa>,
                          .workspace = workspace<isa, narrows>});
}

}  // namespace

void cpu_blocked_pair(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    add<isa, false>(k, "blocked_conv_pair");
    add<isa, true>(k, "blocked_conv_pair.short_images");
  });
}

}  // namespace lathe
