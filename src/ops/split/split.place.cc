// The outputs may lie in the input.
#include "ops/split/split.h"

#include "ops/parts.h"

namespace lathe {
namespace {

std::optional<PartOffsets> parts(const Split& op, const StepFacts& facts) {
  return parts_along(op.axis, facts.inputs[0], facts.outputs);
}

}  // namespace

void place_split(PlaceTable& t) { t.parts<Split>("split.generic", Whole::input, parts); }

}  // namespace lathe
