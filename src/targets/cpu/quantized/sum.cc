// Add of two images of bytes: in the convolution that made one of them for the sum alone, else by itself.
#include "targets/cpu/quantized/layout.h"

namespace lathe {
namespace {

/// Lets the convolution that made `own` for this sum alone add the other operand.
bool add_in_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& add, const QuantizedValue& own,
                 const QuantizedValue& other) {
  const NodeId maker = l.graph.value(l.form.at(own.bytes)).producer;
  if (maker == no_id || own.bytes == other.bytes) return false;
  Node n = l.graph.node(maker);
  if (n.op != "BlockedInt8Conv" || n.inputs.size() > 9 || !l.view.read_once(own.bytes)) return false;
  for (ValueId v : add.inputs)
    if (!l.view.read_once(v) && l.view.number(v)->bytes == own.bytes) return false;
  n.inputs.resize(9, no_id);
  for (ValueId v : l.operand(other)) n.inputs.push_back(v);
  for (ValueId v : l.result(t)) n.inputs.push_back(v);
  set_clamp(n, "sum_", t.of);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  if (!l.has_kernel(n)) return false;
  n.origin = joined_origins(n.origin, l.described(t, add, "").origin);
  // The other operand may come later than the convolution did: this node comes after both. The node that made
  // the convolution's own bytes stays, and is dead.
  l.finish(t, std::move(n));
  return true;
}

}  // namespace

bool quantize_sum(QuantizedLayout& l, const QuantizedTarget& t, const Node& add) {
  const auto a = l.view.number(add.inputs[0]), b = l.view.number(add.inputs[1]);
  if (!a || !b || !l.is_blocked(*a) || !l.is_blocked(*b) || !l.same_shape(a->bytes, t.quant.bytes) ||
      !l.same_shape(b->bytes, t.quant.bytes))
    return false;
  for (const auto& [own, other] : {std::pair(*a, *b), std::pair(*b, *a)})
    if (add_in_conv(l, t, add, own, other)) return true;
  Node n = l.described(t, add, "BlockedInt8Add");
  set_clamp(n, "", t.of);
  n.inputs = l.operand(*a);
  for (ValueId v : l.operand(*b)) n.inputs.push_back(v);
  for (ValueId v : l.result(t)) n.inputs.push_back(v);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  return l.finish_if_it_runs(t, std::move(n));
}

}  // namespace lathe
