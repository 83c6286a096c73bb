#include "ops/block/block.h"

#include <algorithm>
#include <array>

#include "cpu/nchw16c.h"
#include "cpu/support.h"

namespace lathe {
namespace {

using cpu::floats;
using cpu::is_eight_bits;

int64_t pixels(const Shape& nchw) {
  int64_t n = 1;
  for (size_t a = 2; a < nchw.size(); ++a) n *= nchw[a];
  return n;
}

/// Blocks hold uint8: 128 is added to int8, by flipping one bit.
uint8_t sign_xor(const Tensor& nchw) { return nchw.type() == DataType::int8 ? 128 : 0; }
bool is_bytes(const Tensor& t) { return is_eight_bits(t.type()); }

template <Isa isa>
void block(const Block&, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (is_bytes(x))
    return cpu::to_blocks(x.dim(0), x.dim(1), pixels(x.shape()), static_cast<const uint8_t*>(x.data()),
                          sign_xor(x), static_cast<uint8_t*>(c.out(0).data()), c);
  cpu::to_blocks(isa, x.dim(0), x.dim(1), pixels(x.shape()), floats(x), floats(c.out(0)), c);
}

template <Isa isa>
void unblock(const Unblock&, KernelContext& c) {
  Tensor& y = c.out(0);
  if (is_bytes(y))
    return cpu::from_blocks(y.dim(0), y.dim(1), pixels(y.shape()),
                            static_cast<const uint8_t*>(c.in(0).data()), sign_xor(y),
                            static_cast<uint8_t*>(y.data()), c);
  if (cpu::is_f16(y.type()))
    return cpu::from_blocks(y.dim(0), y.dim(1), pixels(y.shape()),
                            static_cast<const uint16_t*>(c.in(0).data()), static_cast<uint16_t*>(y.data()),
                            c);
  cpu::from_blocks(isa, y.dim(0), y.dim(1), pixels(y.shape()), floats(c.in(0)), floats(y), c);
}

static_assert(ChannelsLast::max_outputs == cpu::max_channel_slices);
template <Isa isa>
void channels_last(const ChannelsLast& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t pixels = 1;
  for (size_t a = 2; a + 1 < x.rank(); ++a) pixels *= x.dim(a);
  std::array<cpu::ChannelSlice, ChannelsLast::max_outputs> slices;
  size_t n = 0;
  int64_t first = 0;
  for (size_t i = 0; i < c.outputs(); ++i) {
    const int64_t count = op.split.empty() ? op.width() : op.split[i];
    if (c.wants(i)) slices[n++] = {.first = first, .count = count, .y = floats(c.out(i))};
    first += count;
  }
  cpu::channels_last(isa, x.dim(0), std::max<int64_t>(op.groups, 1), op.width(), pixels, floats(x),
                     {slices.data(), n}, c);
}

/// Floats to floats, or bytes to bytes without sign.
Support supports(const KernelQuery& r, DataType nchw, DataType in_blocks) {
  if (is_eight_bits(nchw) && in_blocks == DataType::uint8) return Support::yes();
  return cpu::supports_float32(Block{}, r);
}
Support supports_block(const Block&, const KernelQuery& r) {
  return supports(r, r.inputs[0].type, r.outputs[0].type);
}
Support supports_unblock(const Unblock&, const KernelQuery& r) {
  if (cpu::is_f16(r.inputs[0].type) && r.inputs[0].type == r.outputs[0].type) return Support::yes();
  return supports(r, r.outputs[0].type, r.inputs[0].type);
}

}  // namespace

void cpu_block(KernelCatalog& k) {
  k.replaces("Block", {});
  k.replaces("Unblock", {});
  k.replaces("ChannelsLast", {"Transpose"});
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Block>({.op = "Block", .domain = "lathe", .name = cpu::kernel_name("block", isa), .isa = isa},
                 {.run = block<isa>, .supports = supports_block});
    k.add<Unblock>({.op = "Unblock", .domain = "lathe", .name = cpu::kernel_name("unblock", isa), .isa = isa},
                   {.run = unblock<isa>, .supports = supports_unblock});
    k.add<ChannelsLast>(
        {.op = "ChannelsLast", .domain = "lathe", .name = cpu::kernel_name("channels_last", isa), .isa = isa},
        {.run = channels_last<isa>, .supports = cpu::supports_float32<ChannelsLast>});
  });
}

}  // namespace lathe
