#include "ops/reshape/reshape.h"

#include "kernel/lean_reference.h"
#include "ops/movement.h"
#include "ops/pass_value.h"

namespace lathe {
namespace {

void identity(const Identity&, KernelContext& c) {
  c.has(0) ? pass_value(c, 0, c.value(0)) : c.set(0, Value());
}

}  // namespace

void reference_reshape(KernelCatalog& k) {
  lean_reference<Reshape>(k, "Reshape", copy_reshaped<Reshape>);
  lean_reference<Flatten>(k, "Flatten", copy_reshaped<Flatten>);
  lean_reference<Squeeze>(k, "Squeeze", copy_reshaped<Squeeze>);
  lean_reference<Unsqueeze>(k, "Unsqueeze", copy_reshaped<Unsqueeze>);
  lean_reference<Identity>(k, "Identity", identity);
}

}  // namespace lathe
