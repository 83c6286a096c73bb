// Two decoders in one file, chosen by an input.
#pragma once

#include "lathe/onnx.h"

namespace lathe::exporters {

/// One graph with the input "use_cache_branch" (bool [1]) and a single If: where it is true, `with_past` runs,
/// else `no_past`. Inputs are those of both; outputs those of `no_past`, in its order: what `with_past` lacks
/// is empty there. Weights that are the same memory are stored once, around the branches. Weights are shared,
/// not copied. Throws bad_argument where `with_past` gives what `no_past` does not, or the opsets differ.
onnx::Model merge_decoders(const onnx::Model& no_past, const onnx::Model& with_past);

}  // namespace lathe::exporters
