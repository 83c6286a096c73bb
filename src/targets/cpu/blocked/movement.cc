// Resize of pixels, and Split between blocks.
#include "targets/cpu/blocked/layout.h"
#include "targets/cpu/blocked_movements.h"

namespace lathe {

bool fits_resize(const BlockedLayout& l, const Node& n) {
  return l.is_chosen(n.inputs[0]) && resizes_pixels(l.graph, n);
}

bool fits_split(const BlockedLayout& l, const Node& n) {
  return l.is_chosen(n.inputs[0]) && splits_blocks(l.graph, n);
}

void describe_blocked_movement(BlockedLayout& l, const Node& old, Node& n) {
  n.attributes = {};
  old.op == "Resize" ? describe_resize(l.graph, old, n) : describe_split(l.graph, old, n);
  n.inputs.set(0, l.blocked(old.inputs[0], l.rank(old.inputs[0])));
}

}  // namespace lathe
