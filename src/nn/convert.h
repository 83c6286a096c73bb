// Converts weights to another type of floats.
#pragma once

#include "lathe/tensor.h"

namespace lathe::nn {

/// Returns whether the type is float32, float16, bfloat16 or float64.
bool converts_to(DataType type);
/// Returns a copy in `type`, rounded to nearest. Throws not_supported if either type is none of the four.
Tensor converted(const Tensor& t, DataType type);

}  // namespace lathe::nn
