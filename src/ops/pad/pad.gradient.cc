// The derivative of Pad.
#include <vector>

#include "gradient/selection.h"

namespace lathe {
namespace {

void pad(Backward& b) {
  std::vector<ValueId> inputs = b.node().inputs;
  if (inputs.size() > 2) {
    if (b.wants(2)) b.refuse("a Pad whose constant_value does not depend on xs", "one that does");
    inputs[2] = no_id;
    while (inputs.back() == no_id) inputs.pop_back();
  }
  selection(b, std::move(inputs));
}

}  // namespace

void gradient_pad(GradientTable& t) { t["Pad"] = pad; }

}  // namespace lathe
