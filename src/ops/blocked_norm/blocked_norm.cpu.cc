#include "ops/blocked_norm/blocked_norm.h"

#include "cpu/nchw16c.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::floats;

cpu::BlockedNormalization of(const BlockedGroupNormalization& op, const Shape& x) {
  cpu::BlockedNormalization n{
      .batch = x[0], .channels = op.channels, .groups = op.num_groups, .epsilon = op.epsilon};
  for (size_t i = 2; i + 1 < x.size(); ++i) n.pixels *= x[i];
  return n;
}

template <bool f16>
size_t workspace(const BlockedGroupNormalization& op, std::span<const Shape> inputs, int threads) {
  return cpu::normalization_workspace(of(op, inputs[0]), f16, threads);
}

template <Isa isa, bool f16>
void normalize(const BlockedGroupNormalization& op, KernelContext& c) {
  cpu::BlockedNormalization n = of(op, c.in(0).shape());
  n.x = c.in(0).data();
  n.x_type = c.in(0).type();
  n.y = c.out(0).data();
  n.y_type = c.out(0).type();
  n.scale = floats(c.in(1));
  n.bias = floats(c.in(2));
  void* const scratch = c.workspace(cpu::normalization_workspace(n, f16, c.threads()));
  cpu::blocked_normalization(isa, n, scratch, c);
}

Support supports_f16(const BlockedGroupNormalization&, const KernelQuery& r) {
  if (!cpu::has_f16_activations(r)) return Support::no("neither image has 16 bits");
  for (size_t i : {1, 2})
    if (r.inputs[i].type != DataType::float32) return Support::no("only float32 beside images");
  return Support::yes();
}

template <Isa isa>
Kernel kernel(const char* name) {
  return {.op = "BlockedGroupNormalization",
          .domain = "lathe",
          .name = cpu::kernel_name(name, isa),
          .isa = isa,
          .fuses_epilogue = true,
          .overwrites = true};
}

}  // namespace

void cpu_blocked_norm(KernelCatalog& k) {
  k.replaces("BlockedGroupNormalization", {"GroupNormalization", "InstanceNormalization"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<BlockedGroupNormalization>(kernel<isa>("blocked_group_norm"),
                                     {.run = normalize<isa, false>,
                                      .supports = cpu::supports_float32<BlockedGroupNormalization>,
                                      .workspace = workspace<false>});
    Kernel of_f16 = kernel<isa>("blocked_group_norm.f16_activations");
    of_f16.writes_f16 = true;
    k.add<BlockedGroupNormalization>(
        std::move(of_f16),
        {.run = normalize<isa, true>, .supports = supports_f16, .workspace = workspace<true>});
  });
}

}  // namespace lathe
