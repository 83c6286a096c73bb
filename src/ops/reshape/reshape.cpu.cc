// The output is the input's memory: nothing is copied, unless the planner could not arrange that.
#include "ops/reshape/reshape.h"

#include "ops/movement.h"

namespace lathe {
namespace {

template <class Op>
Support reshape_supports(const Op&, const KernelQuery& r) {
  return r.inputs[0].type == DataType::undefined ? Support::no("only tensors") : Support::yes();
}

template <class Op>
void reshape_alias(KernelCatalog& k, const char* op, const char* name) {
  k.add<Op>({.op = op, .name = name, .alias = 0},
            {.run = copy_reshaped<Op>, .supports = reshape_supports<Op>});
}

}  // namespace

void cpu_reshape(KernelCatalog& k) {
  reshape_alias<Reshape>(k, "Reshape", "reshape.alias");
  reshape_alias<Flatten>(k, "Flatten", "flatten.alias");
  reshape_alias<Squeeze>(k, "Squeeze", "squeeze.alias");
  reshape_alias<Unsqueeze>(k, "Unsqueeze", "unsqueeze.alias");
  reshape_alias<Identity>(k, "Identity", "identity.alias");
}

}  // namespace lathe
