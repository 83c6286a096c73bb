// What a shape rule is told about values that exist.
#pragma once

#include <span>

#include "lathe/value.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Fills `f` from a value in host memory: type, shape, the elements of small tensors of integers
/// (contents.h), the tensor itself. Reuses the memory that `f` holds already. `readable`: false where the
/// elements are not (yet) there to be looked at.
void describe_value(const Value& v, Fact<int64_t>& f, bool readable = true);

}  // namespace lathe
