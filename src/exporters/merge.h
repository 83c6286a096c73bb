// Merges two decoders in one file; an input chooses between them.
#pragma once

#include "lathe/onnx.h"

namespace lathe::exporters {

/// Returns one graph with the input "use_cache_branch" (bool [1]) and a single If: if it is true, `with_past`
/// runs, else `no_past`. Inputs are those of both; outputs those of `no_past`, in its order: those that
/// `with_past` lacks are empty there. Weights in the same memory are stored once, around the branches.
/// Weights are shared, not copied. Throws bad_argument if `with_past` has an output that `no_past` lacks, or
/// if the opsets differ.
onnx::Model merge_decoders(const onnx::Model& no_past, const onnx::Model& with_past);

}  // namespace lathe::exporters
