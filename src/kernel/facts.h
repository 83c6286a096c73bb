// The facts about existing values that shape rules read.
#pragma once

#include <span>

#include "lathe/value.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Fills `f` from a value in host memory: its type, its shape, the elements of small tensors of integers
/// (contents.h) and the tensor itself. Reuses the memory that `f` has already. `readable`: false if the
/// elements must not be read (yet).
void describe_value(const Value& v, Fact<int64_t>& f, bool readable = true);

}  // namespace lathe
