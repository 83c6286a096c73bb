// Weights that stay in few bits when they are exported: whole numbers with scales in place of floats.
#pragma once

#include "exporters/gguf_source.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

/// The opset in which ONNX has DequantizeLinear with blocks and numbers of 4 bits; those of 2 bits need the
/// other.
inline constexpr int opset_of_blocks = 21, opset_of_two_bits = 25;

/// Returns the lowest opset that expresses the weights of the file in their bits.
int opset_for_bits(const GgufSource& source);

/// Replaces float32 weights of the model that the file has in blocks: DequantizeLinear of the numbers, and an
/// Add where blocks have minimums, make the tensor of the weight's name, with the same bits. The model has
/// the opset that this needs.
void keep_bits(onnx::Model& model, const GgufSource& source);

}  // namespace lathe::exporters
