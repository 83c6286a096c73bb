// Derivatives of DepthToSpace and SpaceToDepth.
#include "gradient/selection.h"

namespace lathe {

void gradient_space(GradientTable& t) { t["DepthToSpace"] = t["SpaceToDepth"] = selection_rule; }

}  // namespace lathe
