// Weights in another type of floats.
#pragma once

#include "lathe/tensor.h"

namespace lathe::nn {

/// float32, float16, bfloat16, float64?
bool converts_to(DataType type);
/// A copy in `type`, rounded to nearest. Throws not_supported where either type is none of the four.
Tensor converted(const Tensor& t, DataType type);

}  // namespace lathe::nn
