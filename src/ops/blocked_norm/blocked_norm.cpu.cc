#include "ops/blocked_norm/blocked_norm.h"

#include "cpu/ask.h"
#include "cpu/blocked.h"

namespace lathe {
namespace {

using cpu::floats;

cpu::BlockedNormalization of(const BlockedGroupNormalization& op, const Shape& x) {
  cpu::BlockedNormalization n{
      .batch = x[0], .channels = op.channels, .groups = op.num_groups, .epsilon = op.epsilon};
  for (size_t i = 2; i + 1 < x.size(); ++i) n.pixels *= x[i];
  return n;
}

size_t workspace(const BlockedGroupNormalization& op, std::span<const Shape> inputs, int threads) {
  return cpu::normalization_workspace(of(op, inputs[0]), threads);
}

template <Isa isa>
void normalize(const BlockedGroupNormalization& op, KernelContext& c) {
  cpu::BlockedNormalization n = of(op, c.in(0).shape());
  n.x = floats(c.in(0));
  n.y = floats(c.out(0));
  n.scale = floats(c.in(1));
  n.bias = floats(c.in(2));
  cpu::blocked_normalization(isa, n, c.workspace(cpu::normalization_workspace(n, c.threads())), c);
}

}  // namespace

void cpu_blocked_norm(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<BlockedGroupNormalization>(
        {.op = "BlockedGroupNormalization",
         .domain = "lathe",
         .name = cpu::kernel_name("blocked_group_norm", isa),
         .isa = isa,
         .finishes = true,
         .overwrites = true},
        {.run = normalize<isa>, .ask = cpu::ask_float32<BlockedGroupNormalization>, .workspace = workspace});
  });
}

}  // namespace lathe
