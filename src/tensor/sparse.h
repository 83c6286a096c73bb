// What makes a sparse tensor whole.
#pragma once

#include <optional>
#include <string>

#include "lathe/value.h"

namespace lathe {

struct SparseFault {
  std::string expected, got;
};

/// What is wrong with the values, indices and shape of `s`: the values are of rank 1, the indices int64 of
/// shape [NNZ] or [NNZ, rank], sorted, unique and within the shape, which is one that can exist.
std::optional<SparseFault> sparse_fault(const SparseTensor& s);

}  // namespace lathe
