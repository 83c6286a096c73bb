// The numbers among the sizes that inference found.
#pragma once

#include "lathe/dim.h"
#include "lathe/tensor.h"

namespace lathe {

/// The sizes of an output that no iteration computed. A size is known if it is constant, or if the inferred
/// type of an input (`type(i)`, null if it has no shape) has the same size: it is then read from that input
/// (`tensor(i)`, null if it is no tensor). Others are -1.
Shape expected_sizes(const SymShape& output, size_t inputs, auto&& type, auto&& tensor) {
  Shape sizes;
  for (const Dim& d : output) sizes.push_back(d.value().value_or(-1));
  for (size_t i = 0; i < inputs; ++i) {
    const SymShape* const inferred = type(i);
    const Tensor* const real = tensor(i);
    if (!inferred || !real || inferred->size() != real->rank()) continue;
    for (size_t a = 0; a < output.size(); ++a)
      for (size_t b = 0; b < inferred->size() && sizes[a] < 0; ++b)
        if (output[a] == (*inferred)[b]) sizes[a] = real->dim(b);
  }
  return sizes;
}

}  // namespace lathe
