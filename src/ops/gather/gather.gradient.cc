// Derivatives of what reads from places of a tensor.
#include "gradient/selection.h"

namespace lathe {

void gradient_gather(GradientTable& t) { t["Gather"] = t["GatherElements"] = t["GatherND"] = selection_rule; }

}  // namespace lathe
