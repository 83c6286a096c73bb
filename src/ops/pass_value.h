// Outputs that are values which the kernel did not make.
#pragma once

#include "ops/movement.h"

namespace lathe {

/// Makes `v` output `i`: tensors that own their memory are shared, others are copied.
inline void pass_value(KernelContext& c, size_t i, const Value& v) {
  if (!c.wants(i)) return;
  if (!v.is_tensor() || v.tensor().owns()) return c.set(i, v.is_tensor() ? v : owned(v));
  copy_elements(v.tensor(), c.out(i, v.tensor().type(), v.tensor().shape()), c);
}

}  // namespace lathe
