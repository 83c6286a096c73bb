// Decoders that compute the logits of some tokens only.
#pragma once

#include "lathe/onnx.h"

namespace lathe {

/// Adds an input `logits_rows` (int64 [rows], indices of tokens of this run): the product with the
/// vocabulary, and what follows it up to the output `logits`, are then computed for these tokens alone. The
/// model must be run with a batch of one. Returns false, and changes nothing, where what leads to the logits
/// is not understood.
bool select_logits_rows(onnx::Model& model);

}  // namespace lathe
