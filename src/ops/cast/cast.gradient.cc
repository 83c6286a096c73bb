// Derivatives of conversions: the gradient in the type of the input.
#include "gradient/backward.h"

namespace lathe {
namespace {

void cast(Backward& b) { b.give(0, b.add("CastLike", {b.gradient(), b.x()})); }

}  // namespace

void gradient_cast(GradientTable& t) { t["Cast"] = t["CastLike"] = cast; }

}  // namespace lathe
