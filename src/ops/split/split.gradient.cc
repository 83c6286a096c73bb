// The derivative of Split.
#include "gradient/selection.h"

namespace lathe {

void gradient_split(GradientTable& t) { t["Split"] = selection_rule; }

}  // namespace lathe
