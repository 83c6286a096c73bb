// InstanceNormalization and GroupNormalization.
#include "targets/cpu/blocked/layout.h"

namespace lathe {

/// Statistics must be computed in float32, the type of the elements, and there must be channels.
bool fits_norm(const BlockedLayout& l, const Node& n) {
  constexpr auto as_elements = static_cast<int64_t>(DataType::float32);
  return l.is_chosen(n.inputs[0]) && n.attributes.get<int64_t>("stash_type", as_elements) == as_elements &&
         *l.channels(n.inputs[0]) > 0;
}

void describe_blocked_norm(BlockedLayout& l, const Node& old, Node& n) {
  const int64_t c = *l.channels(old.inputs[0]);
  n.domain = "lathe";
  n.op = "BlockedGroupNormalization";
  n.inputs = {l.blocked(old.inputs[0], l.rank(old.inputs[0])), old.inputs[1], old.inputs[2]};
  n.attributes.erase("stash_type");
  if (old.op == "InstanceNormalization") n.attributes.set("num_groups", c);
  n.attributes.set("channels", c);
}

}  // namespace lathe
