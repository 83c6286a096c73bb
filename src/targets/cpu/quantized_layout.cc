#include "targets/cpu/quantized_layout.h"

#include <string_view>

#include "targets/cpu/quantized/layout.h"

namespace lathe {
namespace {

/// The nodes that a rule looks for.
enum class Looks : uint8_t {
  at_bytes,   // an operator of bytes as it is
  at_stored,  // an operator whose result QuantizeLinear stores
  at_images   // the same, where the result is an image that only QuantizeLinear reads
};

struct RuleOf {
  std::string_view op;  // of the node that computes; empty: any
  Looks looks;
  QuantizedRule convert;
};

/// The rules in the order in which they are tried, until one converts the node.
constexpr RuleOf rules[] = {
    {"QLinearConv", Looks::at_bytes, quantize_linear_conv},
    {"Concat", Looks::at_bytes, block_concat},
    {"MaxPool", Looks::at_bytes, block_max_pool},
    {"Resize", Looks::at_bytes, block_movement},
    {"Split", Looks::at_bytes, block_movement},
    {"", Looks::at_stored, quantize_function},
    {"Conv", Looks::at_images, quantize_conv},
    {"ConvTranspose", Looks::at_images, quantize_transposed_conv},
    {"Add", Looks::at_images, quantize_sum},
    {"MaxPool", Looks::at_images, quantize_max_pool},
    {"AveragePool", Looks::at_images, quantize_mean},
    {"GlobalAveragePool", Looks::at_images, quantize_global_mean},
    {"Concat", Looks::at_images, quantize_concat},
    {"Mul", Looks::at_images, quantize_gate},
    {"Mul", Looks::at_images, quantize_scale},
    {"Add", Looks::at_images, quantize_scale},
};

void convert_bytes(QuantizedLayout& l, NodeId id) {
  for (const RuleOf& r : rules) {
    if (r.looks != Looks::at_bytes || r.op != l.graph.node(id).op) continue;
    const Node n = l.graph.node(id);
    const ValueId made = n.outputs[0];
    if (r.convert(l, {id, {made, no_id, no_id}, {made, 0, 0}, id}, n)) return;
  }
}

void convert_stored(QuantizedLayout& l, NodeId id) {
  const auto quant = l.view.stored(l.graph.node(id));
  if (!quant) return;
  const auto of = l.view.clamped(l.graph.node(id).inputs[0]);
  const NodeId source = l.graph.value(of->value).producer;
  if (source == no_id) return;
  const QuantizedTarget t{id, *quant, *of, source};
  const Node n = l.graph.node(source);
  if (!n.domain.empty()) return;
  const bool alone = l.view.read_once(of->value);
  if (n.op == "Conv" && l.is_volume(quant->bytes) && alone) {
    quantize_volume(l, t, n);
    return;
  }
  const bool is_image = l.is_image(quant->bytes) && alone;
  for (const RuleOf& r : rules)
    if ((r.looks == Looks::at_stored || (r.looks == Looks::at_images && is_image)) &&
        (r.op.empty() || r.op == n.op) && r.convert(l, t, n))
      return;
}

}  // namespace

bool use_quantized_layout(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                          const Preference& preference) {
  QuantizedLayout layout(graph, folds, kernels, preference);
  for (NodeId id : graph.order()) {
    if (!graph.node(id).domain.empty()) continue;
    if (graph.node(id).op == "QuantizeLinear")
      convert_stored(layout, id);
    else
      convert_bytes(layout, id);
  }
  return layout.changed;
}

}  // namespace lathe
