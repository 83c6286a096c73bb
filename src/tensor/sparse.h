// Checks sparse tensors.
#pragma once

#include <optional>
#include <string>

#include "lathe/value.h"

namespace lathe {

struct SparseFault {
  std::string expected, got;
};

/// Returns the first fault in `s`, if any: values must have rank 1, indices be int64 of shape [NNZ] or
/// [NNZ, rank], sorted, unique and within the shape, and the shape must be valid.
std::optional<SparseFault> sparse_fault(const SparseTensor& s);

}  // namespace lathe
