// The derivative of Trilu.
#include "gradient/selection.h"

namespace lathe {

void gradient_trilu(GradientTable& t) { t["Trilu"] = selection_rule; }

}  // namespace lathe
