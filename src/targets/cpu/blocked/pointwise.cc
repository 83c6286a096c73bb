// Elementwise operators between images, numbers and constants for each channel.
#include "compiler/node_query.h"
#include "cpu/support.h"
#include "targets/cpu/blocked/layout.h"

namespace lathe {
namespace {

/// True if `v` is a constant [C, 1, 1] or [C, 1] for an image like `y`.
bool is_per_channel(const BlockedLayout& l, ValueId v, ValueId y) {
  const Tensor* t = l.graph.constant_tensor(v);
  Shape wanted(l.rank(y) - 1, 1);
  wanted[0] = *l.channels(y);
  return t && t->type() == DataType::float32 && t->shape() == wanted;
}

}  // namespace

bool fits_pointwise(const BlockedLayout& l, const Node& n) {
  const auto* describe = l.kernels.pointwise_of(n.domain, n.op);
  if (!describe || n.outputs.size() != 1) return false;
  const NodeQuery query(l.graph, n, l.preference.isa, !l.preference.refit);
  if (cpu::refuse_unless_float32(query.kernel_query())) return false;
  const auto op = l.kernels.codec_of(n.domain, n.op)->decode(n.attributes);
  if (!(*describe)(op.get(), query.kernel_query())) return false;
  const ValueId y = n.outputs[0];
  bool any = false;
  for (ValueId v : n.inputs) {
    if (v == no_id) continue;
    any |= l.is_chosen(v);
    const bool like_y = l.channels(v) == l.channels(y) && l.rank(v) == l.rank(y);
    if (!l.is_single(v, l.rank(y)) && !like_y && !is_per_channel(l, v, y)) return false;
  }
  return any;
}

bool fits_reader(const BlockedLayout& l, const Node& n) { return l.is_chosen(n.inputs[0]); }

void describe_alike(BlockedLayout& l, const Node& old, Node& n) {
  const size_t axes = l.rank(old.outputs[0]);
  for (ValueId in : old.inputs)
    n.inputs.push_back(in == no_id || l.is_single(in, axes) ? in : l.blocked(in, axes));
}

}  // namespace lathe
