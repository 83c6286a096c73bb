// The derivative of Slice.
#include "gradient/selection.h"

namespace lathe {

void gradient_slice(GradientTable& t) { t["Slice"] = selection_rule; }

}  // namespace lathe
