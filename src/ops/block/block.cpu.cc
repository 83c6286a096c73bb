#include "ops/block/block.h"

#include <algorithm>
#include <array>

#include "cpu/ask.h"
#include "cpu/blocked.h"

namespace lathe {
namespace {

using cpu::floats;
using cpu::is_eight_bits;

int64_t pixels(const Shape& plain) {
  int64_t n = 1;
  for (size_t a = 2; a < plain.size(); ++a) n *= plain[a];
  return n;
}

/// In blocks, bytes have no sign: 128 is added to those of int8, by turning one bit.
uint8_t turned(const Tensor& plain) { return plain.type() == DataType::int8 ? 128 : 0; }
bool is_bytes(const Tensor& t) { return is_eight_bits(t.type()); }

template <Isa isa>
void block(const Block&, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (is_bytes(x))
    return cpu::to_blocks(x.dim(0), x.dim(1), pixels(x.shape()), static_cast<const uint8_t*>(x.data()),
                          turned(x), static_cast<uint8_t*>(c.out(0).data()), c);
  cpu::to_blocks(isa, x.dim(0), x.dim(1), pixels(x.shape()), floats(x), floats(c.out(0)), c);
}

template <Isa isa>
void unblock(const Unblock&, KernelContext& c) {
  Tensor& y = c.out(0);
  if (is_bytes(y))
    return cpu::from_blocks(y.dim(0), y.dim(1), pixels(y.shape()),
                            static_cast<const uint8_t*>(c.in(0).data()), turned(y),
                            static_cast<uint8_t*>(y.data()), c);
  if (cpu::is_half(y.type()))
    return cpu::from_blocks(y.dim(0), y.dim(1), pixels(y.shape()),
                            static_cast<const uint16_t*>(c.in(0).data()), static_cast<uint16_t*>(y.data()),
                            c);
  cpu::from_blocks(isa, y.dim(0), y.dim(1), pixels(y.shape()), floats(c.in(0)), floats(y), c);
}

static_assert(ChannelsLast::most_parts == cpu::most_channels_parts);
template <Isa isa>
void channels_last(const ChannelsLast& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t pixels = 1;
  for (size_t a = 2; a + 1 < x.rank(); ++a) pixels *= x.dim(a);
  std::array<cpu::ChannelsPart, ChannelsLast::most_parts> parts;
  size_t n = 0;
  int64_t first = 0;
  for (size_t i = 0; i < c.outputs(); ++i) {
    const int64_t count = op.parts.empty() ? op.width() : op.parts[i];
    if (c.wants(i)) parts[n++] = {.first = first, .count = count, .y = floats(c.out(i))};
    first += count;
  }
  cpu::channels_last(isa, x.dim(0), std::max<int64_t>(op.groups, 1), op.width(), pixels, floats(x),
                     {parts.data(), n}, c);
}

/// Floats to floats, or bytes to bytes without sign.
Verdict ask(const KernelRequest& r, DataType plain, DataType in_blocks) {
  if (is_eight_bits(plain) && in_blocks == DataType::uint8) return Verdict::yes();
  return cpu::ask_float32(Block{}, r);
}
Verdict ask_block(const Block&, const KernelRequest& r) {
  return ask(r, r.inputs[0].type, r.outputs[0].type);
}
Verdict ask_unblock(const Unblock&, const KernelRequest& r) {
  if (cpu::is_half(r.inputs[0].type) && r.inputs[0].type == r.outputs[0].type) return Verdict::yes();
  return ask(r, r.outputs[0].type, r.inputs[0].type);
}

}  // namespace

void cpu_block(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Block>({.op = "Block", .domain = "lathe", .name = cpu::kernel_name("block", isa), .isa = isa},
                 {.run = block<isa>, .ask = ask_block});
    k.add<Unblock>({.op = "Unblock", .domain = "lathe", .name = cpu::kernel_name("unblock", isa), .isa = isa},
                   {.run = unblock<isa>, .ask = ask_unblock});
    k.add<ChannelsLast>(
        {.op = "ChannelsLast", .domain = "lathe", .name = cpu::kernel_name("channels_last", isa), .isa = isa},
        {.run = channels_last<isa>, .ask = cpu::ask_float32<ChannelsLast>});
  });
}

}  // namespace lathe
