#include "targets/cpu/int8_weights.h"

#include <algorithm>

#include "passes/pass.h"
#include "passes/side_by_side.h"
#include "targets/cpu/quantized_view.h"

namespace lathe {
namespace {

/// Returns whether the value is dequantized from bytes that are not constant.
bool is_dequantized(const Graph& g, ValueId v) {
  const NodeId p = v == no_id ? no_id : g.value(v).producer;
  if (p == no_id || !View::is(g.node(p), "DequantizeLinear")) return false;
  const ValueInfo& bytes = g.value(g.node(p).inputs[0]);
  return is_eight_bits(bytes.type) && !bytes.is_constant();
}

/// Returns whether the value is stored as bytes again, after nothing but activations that clamp it.
bool is_quantized(const Graph& g, const UseIndex& uses, ValueId v) {
  for (;;) {
    const std::vector<Use>& readers = uses.of(v);
    if (readers.size() != 1 || readers[0].input != 0 || g.is_output(v)) return false;
    const Node& n = g.node(readers[0].node);
    if (View::is(n, "QuantizeLinear")) return true;
    if (!View::is(n, "Relu") && !View::is(n, "Clip")) return false;
    v = n.outputs[0];
  }
}

bool reads_weights(const Graph& g, const UseIndex& uses, const Use& u) {
  if (u.input != 1) return false;
  const Node& n = g.node(u.node);
  if (!is_dequantized(g, n.inputs[0])) return false;
  return View::is(n, "MatMul") || View::is(n, "Gemm") ||
         (View::is(n, "Conv") && is_quantized(g, uses, n.outputs[0]));
}

/// Returns whether the reader is a ConvTranspose that can be a convolution of one pixel and DepthToSpace; `w`
/// is the shape of its weights.
bool reads_as_pixels(const Graph& g, const UseIndex& uses, const Use& u, const Shape& w) {
  const Node& n = g.node(u.node);
  return u.input == 1 && View::is(n, "ConvTranspose") && is_dequantized(g, n.inputs[0]) &&
         side_by_side(n, w) && is_quantized(g, uses, n.outputs[0]);
}

}  // namespace

bool stays_int8(const Graph& g, const UseIndex& uses, const Node& n) {
  if (!View::is(n, "DequantizeLinear") || n.outputs[0] == no_id || g.is_output(n.outputs[0])) return false;
  const ValueInfo& bytes = g.value(n.inputs[0]);
  const ValueType& made = g.value(n.outputs[0]).type;
  const std::vector<Use>& readers = uses.of(n.outputs[0]);
  return bytes.is_constant() && is_eight_bits(bytes.type) && made.elem == DataType::float32 &&
         !readers.empty() && n.attributes.get<int64_t>("block_size", 0) == 0 &&
         std::ranges::all_of(readers, [&](const Use& u) {
           return reads_weights(g, uses, u) || reads_as_pixels(g, uses, u, bytes.constant->tensor().shape());
         });
}

}  // namespace lathe
