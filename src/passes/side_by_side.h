// Finds ConvTransposes that make every pixel of Y from one pixel of X: those whose windows are side by side.
#pragma once

#include "graph/graph.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace lathe {

/// Returns the size of the windows along both axes, for weights of this shape; nothing if they overlap or
/// leave gaps.
inline std::optional<int64_t> side_by_side(const Node& conv_transpose, const Shape& w) {
  return decode<ConvTranspose>(conv_transpose.attributes).side_by_side(w);
}

}  // namespace lathe
