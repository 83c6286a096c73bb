// Operators that join channels, or make pixels of them.
#include "cpu/nchw16c.h"
#include "targets/cpu/blocked/layout.h"

namespace lathe {

/// The blocks of the inputs are put side by side, so only the last input may end with a block that is not
/// full.
bool fits_concat(const BlockedLayout& l, const Node& n) {
  if (n.attributes.get<int64_t>("axis", 0) != 1) return false;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const auto c = l.channels(n.inputs[i]);
    if (!c || !l.is_chosen(n.inputs[i]) || (i + 1 < n.inputs.size() && *c % cpu::channel_block != 0))
      return false;
  }
  return true;
}

/// Each pixel that the DepthToSpace makes must have whole blocks of channels.
bool fits_depth_to_space(const BlockedLayout& l, const Node& n) {
  return l.is_chosen(n.inputs[0]) && n.attributes.get<std::string>("mode", "DCR") == "DCR" &&
         *l.channels(n.outputs[0]) % cpu::channel_block == 0;
}

void describe_blocked_depth_to_space(BlockedLayout& l, const Node& old, Node& n) {
  describe_alike(l, old, n);
  n.domain = "lathe";
  n.op = "BlockedDepthToSpace";
  n.attributes.erase("mode");  // the one that has blocks
}

}  // namespace lathe
