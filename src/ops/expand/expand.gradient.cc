// Derivatives of what repeats elements.
#include "gradient/selection.h"

namespace lathe {
namespace {

void expand(Backward& b) { b.give_broadcast(0, b.gradient()); }

}  // namespace

void gradient_expand(GradientTable& t) {
  t["Expand"] = expand;
  t["Tile"] = selection_rule;
}

}  // namespace lathe
