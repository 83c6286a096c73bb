// Pools over windows, and over all pixels.
#include "targets/cpu/blocked/layout.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {

bool fits_pool(const BlockedLayout& l, const Node& n) {
  const bool indices = n.outputs.size() > 1 && n.outputs[1] != no_id;
  return !indices && explicit_pads(n) && l.is_chosen(n.inputs[0]);
}

void describe_blocked_pool(BlockedLayout& l, const Node& old, Node& n) {
  describe_blocked_global_pool(l, old, n);
  make_explicit(n, n.attributes.get<std::vector<int64_t>>("kernel_shape", {}).size());
}

void describe_blocked_global_pool(BlockedLayout& l, const Node& old, Node& n) {
  describe_alike(l, old, n);
  n.domain = "lathe";
  n.op = "Blocked" + old.op;
}

}  // namespace lathe
