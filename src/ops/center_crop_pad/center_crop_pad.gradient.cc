// The derivative of CenterCropPad.
#include "gradient/selection.h"

namespace lathe {

void gradient_center_crop_pad(GradientTable& t) { t["CenterCropPad"] = selection_rule; }

}  // namespace lathe
