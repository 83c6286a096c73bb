// Derivatives of what gives the same elements another shape.
#include "gradient/backward.h"

namespace lathe {
namespace {

void identity(Backward& b) { b.give(0, b.gradient()); }

/// The same elements in the same order.
void reshape(Backward& b) { b.give(0, b.shaped_like(b.gradient(), b.x())); }

}  // namespace

void gradient_reshape(GradientTable& t) {
  t["Identity"] = identity;
  t["Flatten"] = t["Reshape"] = t["Squeeze"] = t["Unsqueeze"] = reshape;
}

}  // namespace lathe
