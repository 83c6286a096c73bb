// A few operators with their histories, declared for tests of importer, exporter and checker, so that these
// do not depend on the operators of src/ops.
#pragma once

#include "schema/schema.h"

namespace lathe::test {

/// Add, Softmax, Reshape, Relu, Identity, Cast, Upsample (ended) and Resize, Shape, If, Loop, in the domain
/// "" ; Scale in "test".
const SchemaCatalog& small_catalog();

}  // namespace lathe::test
