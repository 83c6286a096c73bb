// The inputs may lie in the output.
#include "ops/concat/concat.h"

#include "ops/parts.h"

namespace lathe {
namespace {

std::optional<PartOffsets> parts(const Concat& op, const StepFacts& facts) {
  return parts_along(op.axis, facts.outputs[0], facts.inputs);
}

}  // namespace

void place_concat(PlaceTable& t) { t.parts<Concat>("concat.generic", Whole::output, parts); }

}  // namespace lathe
