#include "ops/reshape/reshape.h"

#include "ops/movement.h"
#include "ops/pass_value.h"

namespace lathe {
namespace {

void identity(const Identity&, KernelContext& c) {
  c.has(0) ? pass_value(c, 0, c.value(0)) : c.set(0, Value());
}

}  // namespace

void reference_reshape(KernelCatalog& k) {
  k.reference<Reshape>("Reshape", copy_reshaped<Reshape>);
  k.reference<Flatten>("Flatten", copy_reshaped<Flatten>);
  k.reference<Squeeze>("Squeeze", copy_reshaped<Squeeze>);
  k.reference<Unsqueeze>("Unsqueeze", copy_reshaped<Unsqueeze>);
  k.reference<Identity>("Identity", identity);
}

}  // namespace lathe
