// The derivative of Compress.
#include "gradient/selection.h"

namespace lathe {

void gradient_select(GradientTable& t) { t["Compress"] = selection_rule; }

}  // namespace lathe
