// Convolutions with constant weights.
#include "cpu/nchw16c.h"
#include "targets/cpu/blocked/layout.h"
#include "targets/cpu/window_attributes.h"
#include "tensor/channel_groups.h"

namespace lathe {
namespace {

/// Convolutions widen weights of 16 bits themselves.
bool are_conv_weights(const Tensor& t) {
  return t.type() == DataType::float32 || t.type() == DataType::float16 || t.type() == DataType::bfloat16;
}

}  // namespace

bool fits_conv(const BlockedLayout& l, const Node& n) {
  const auto c = l.channels(n.inputs[0]);
  const Tensor* w = l.graph.constant_tensor(n.inputs[1]);
  if (!c || !w || !are_conv_weights(*w) || w->rank() != l.rank(n.inputs[0]) || !explicit_pads(n))
    return false;
  const int64_t group = n.attributes.get<int64_t>("group", 1), m = w->dim(0);
  // Filters that fill less than half of a block would waste more than blocks gain.
  if (m < cpu::channel_block / 2) return false;
  if (group > 1 && group == *c) return m == *c;
  return weight_sets(*c, m, group, cpu::channel_block) > 0;
}

void describe_blocked_conv(BlockedLayout& l, const Node& old, Node& n) {
  const int64_t c = *l.channels(old.inputs[0]);
  const bool nchw =
      !l.has_blocks(old.inputs[0]) && c < cpu::channel_block && old.attributes.get<int64_t>("group", 1) == 1;
  n.domain = "lathe";
  n.op = "BlockedConv";
  n.inputs = old.inputs;
  if (!nchw) n.inputs.set(0, l.blocked(old.inputs[0], l.rank(old.inputs[0])));
  n.attributes.erase("kernel_shape");
  make_explicit(n, l.rank(old.inputs[0]) - 2);
  n.attributes.set("channels", c);
  n.attributes.set("nchw_input", int64_t{nchw});
}

}  // namespace lathe
