// The quantized layout while it is built: which bytes are in channel blocks already, and what its rules
// share. A rule replaces nodes of a quantized model by one operator of bytes; each has a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/select.h"
#include "targets/cpu/lookup_tables.h"
#include "targets/cpu/quantized_view.h"

namespace lathe {

/// The target of a rule: the new node makes the output of `last` with the quantization parameters `quant`;
/// `of` is the value that is stored, before activations that clamp it.
struct QuantizedTarget {
  NodeId last;
  QuantizedValue quant;
  Clamped of;
  NodeId source;  // the node that computes
};

class QuantizedLayout {
 public:
  QuantizedLayout(Graph& g, const Folds& folds, const KernelCatalog& kernel_catalog,
                  const Preference& preferred)
      : graph(g),
        view(g, folds),
        functions(g, view, kernel_catalog),
        kernels(kernel_catalog),
        preference(preferred) {}

  Graph& graph;
  QuantizedView view;
  std::map<ValueId, ValueId> form = {};  // in blocks, by the bytes in NCHW
  LookupTables functions;
  bool changed = false;

  // Values.

  /// True for [N, C, H, W] or [N, C, W] with a known number of channels.
  bool is_image(ValueId v) const;
  bool is_volume(ValueId v) const;
  size_t rank(ValueId v) const { return graph.value(v).type.shape->size(); }
  int64_t channels(ValueId v) const { return *(*graph.value(v).type.shape)[1].value(); }
  bool same_shape(ValueId a, ValueId b) const {
    return *graph.value(a).type.shape == *graph.value(b).type.shape;
  }
  bool is_blocked(const QuantizedValue& q) const { return form.contains(q.bytes); }
  bool same_quant_params(const QuantizedValue& a, const QuantizedValue& b) const;
  /// True if no activation clamps the result between the operator and its QuantizeLinear.
  bool is_unclamped(const QuantizedTarget& t) const { return t.of.value == graph.node(t.last).inputs[0]; }
  /// The operands by which a kernel reads quantized bytes in blocks: blocks, scale and zero point.
  std::vector<ValueId> operand(const QuantizedValue& q) {
    return {form.at(q.bytes), q.scale, view.zero_or_made(q.zero, q.bytes)};
  }
  /// Scale and zero point of the result.
  std::vector<ValueId> result(const QuantizedTarget& t) {
    return {t.quant.scale, view.zero_or_made(t.quant.zero, t.quant.bytes)};
  }

  // The new nodes.

  bool has_kernel(const Node& n) const;
  /// An operator of the domain "lathe" with the names of the nodes that it replaces.
  Node described(const QuantizedTarget& t, const Node& source, std::string op) const;
  ValueId add_blocked_value(ValueId v) { return add_blocked_value(v, channels(v)); }
  ValueId add_blocked_value(ValueId v, int64_t of_channels);
  ValueId add_constant(const char* name, Tensor t) {
    return graph.add_constant(graph.fresh_name(name), std::move(t));
  }
  /// Adds the entries of a LookupTable; `from` and `to` flip the signs of bytes that it reads and makes.
  ValueId add_table(const LookupTables::Table& t, uint8_t from, uint8_t to);
  void add_block(ValueId nchw, ValueId blocks);
  void add_unblocked(ValueId blocks, ValueId nchw);
  /// Replaces the target by the node; an Unblock makes the bytes in NCHW for nodes that require them.
  void finish(const QuantizedTarget& t, Node n);
  /// The same, if a kernel takes the node; returns whether one does.
  bool finish_if_it_runs(const QuantizedTarget& t, Node n);
  /// The same for bytes that are in NCHW.
  bool finish_in_nchw(const QuantizedTarget& t, Node n);

 private:
  const KernelCatalog& kernels;
  const Preference& preference;
};

/// Sets the attributes clamp_low and clamp_high, with `prefix` before their names.
void set_clamp(Node& n, const std::string& prefix, const Clamped& c);
/// The names in both lists.
std::vector<std::string> joined_origins(std::vector<std::string> a, const std::vector<std::string>& b);

// The rules. Each returns whether it has replaced the target by a node. `n` is a copy of the node that
// computes.

using QuantizedRule = bool (*)(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);

/// Conv of dequantized bytes and weights. (quantized/conv.cc)
bool quantize_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// QLinearConv.
bool quantize_linear_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// BlockedInt8Conv of these inputs, the first in NCHW; the attributes are those of `conv`.
bool add_quantized_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& conv,
                        std::vector<ValueId> inputs);
/// ConvTranspose whose windows lie side by side. (quantized/transposed_conv.cc)
bool quantize_transposed_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Conv over three spatial axes, which stays in NCHW. (quantized/volume.cc)
bool quantize_volume(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Add of two images. (quantized/sum.cc)
bool quantize_sum(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// MaxPool between numbers with the same quantization parameters, or of bytes. (quantized/max_pool.cc)
bool quantize_max_pool(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
bool block_max_pool(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// GlobalAveragePool, and AveragePool. (quantized/mean.cc)
bool quantize_global_mean(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
bool quantize_mean(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Functions of one byte, in blocks or not. (quantized/function.cc)
bool quantize_function(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Mul with a quantized number for each channel. (quantized/scale.cc)
bool quantize_gate(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Sums and products with a constant for each channel, as a normalization leaves them.
bool quantize_scale(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Concat of numbers, or of bytes. (quantized/concat.cc)
bool quantize_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
bool block_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Resize to the nearest pixels and Split between blocks, of bytes. (quantized/movement.cc)
bool block_movement(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);

}  // namespace lathe
