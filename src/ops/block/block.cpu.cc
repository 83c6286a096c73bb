#include "ops/block/block.h"

#include "cpu/ask.h"
#include "cpu/blocked.h"

namespace lathe {
namespace {

using cpu::floats;

int64_t pixels(const Shape& plain) {
  int64_t n = 1;
  for (size_t a = 2; a < plain.size(); ++a) n *= plain[a];
  return n;
}

void block(const Block&, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::to_blocks(x.dim(0), x.dim(1), pixels(x.shape()), floats(x), floats(c.out(0)), c);
}

void unblock(const Unblock&, KernelContext& c) {
  Tensor& y = c.out(0);
  cpu::from_blocks(y.dim(0), y.dim(1), pixels(y.shape()), floats(c.in(0)), floats(y), c);
}

}  // namespace

void cpu_block(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Block>({.op = "Block", .domain = "lathe", .name = cpu::kernel_name("block", isa), .isa = isa},
                 {.run = block, .ask = cpu::ask_float32<Block>});
    k.add<Unblock>({.op = "Unblock", .domain = "lathe", .name = cpu::kernel_name("unblock", isa), .isa = isa},
                   {.run = unblock, .ask = cpu::ask_float32<Unblock>});
  });
}

}  // namespace lathe
