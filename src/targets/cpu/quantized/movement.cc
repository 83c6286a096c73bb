// Bytes that are moved: the nearest pixels of Resize, or parts of channels.
#include "targets/cpu/blocked_movements.h"
#include "targets/cpu/quantized/layout.h"

namespace lathe {

/// Outputs of the graph are skipped: an image is smaller to convert before it is resized.
bool block_movement(QuantizedLayout& l, const QuantizedTarget& t, const Node& old) {
  if (!l.form.contains(old.inputs[0]) || l.graph.is_output(old.outputs[0])) return false;
  const bool resizes = old.op == "Resize";
  if (resizes
          ? !resizes_pixels(l.graph, old) || old.attributes.get<std::string>("mode", "nearest") != "nearest"
          : !splits_blocks(l.graph, old))
    return false;
  Node n = l.described(t, old, old.op);
  n.domain.clear();
  resizes ? describe_resize(l.graph, old, n) : describe_split(l.graph, old, n);
  n.inputs.set(0, l.form.at(old.inputs[0]));
  for (ValueId v : old.outputs) n.outputs.push_back(l.add_blocked_value(v));
  const std::vector<ValueId> made = n.outputs;
  l.graph.remove_node(t.last);
  l.graph.add_node(std::move(n));
  for (size_t i = 0; i < made.size(); ++i) l.add_unblocked(made[i], old.outputs[i]);
  return true;
}

}  // namespace lathe
