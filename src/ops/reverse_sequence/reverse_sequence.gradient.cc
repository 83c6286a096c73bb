// The derivative of ReverseSequence.
#include "gradient/selection.h"

namespace lathe {

void gradient_reverse_sequence(GradientTable& t) { t["ReverseSequence"] = selection_rule; }

}  // namespace lathe
