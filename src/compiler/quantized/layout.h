// The quantized layout while it is made: which bytes are in channel blocks already, and what its rules have
// in common. A rule makes one operator of bytes of what a quantized model has in its place, one file each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/lookup_tables.h"
#include "compiler/quantized_view.h"
#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

/// What is being converted: the node whose output the new one makes, with which quantization parameters, of
/// what.
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

  /// [N, C, H, W] or [N, C, W] with a known number of channels.
  bool is_image(ValueId v) const;
  bool is_volume(ValueId v) const;
  size_t rank(ValueId v) const { return graph.value(v).type.shape->size(); }
  int64_t channels(ValueId v) const { return *(*graph.value(v).type.shape)[1].value(); }
  bool same_shape(ValueId a, ValueId b) const {
    return *graph.value(a).type.shape == *graph.value(b).type.shape;
  }
  bool is_blocked(const QuantizedValue& q) const { return form.contains(q.bytes); }
  bool same_quant_params(const QuantizedValue& a, const QuantizedValue& b) const;
  /// Nothing is between the operator and its QuantizeLinear: no activation that clamps.
  bool is_unclamped(const QuantizedTarget& t) const { return t.of.value == graph.node(t.last).inputs[0]; }
  /// What a kernel reads of quantized bytes in blocks: blocks, scale and zero point.
  std::vector<ValueId> operand(const QuantizedValue& q) {
    return {form.at(q.bytes), q.scale, view.zero_or_made(q.zero, q.bytes)};
  }
  /// Scale and zero point of the result.
  std::vector<ValueId> result(const QuantizedTarget& t) {
    return {t.quant.scale, view.zero_or_made(t.quant.zero, t.quant.bytes)};
  }

  // The new nodes.

  bool has_kernel(const Node& n) const;
  /// An operator of the domain "lathe" with the names of what it stands for.
  Node described(const QuantizedTarget& t, const Node& source, std::string op) const;
  ValueId add_blocked_value(ValueId v) { return add_blocked_value(v, channels(v)); }
  ValueId add_blocked_value(ValueId v, int64_t of_channels);
  ValueId add_constant(const char* name, Tensor t) {
    return graph.add_constant(graph.fresh_name(name), std::move(t));
  }
  /// A LookupTable's entries for bytes whose signs are flipped, here and there.
  ValueId add_table(const LookupTables::Table& t, uint8_t from, uint8_t to);
  void add_block(ValueId nchw, ValueId blocks);
  void add_unblocked(ValueId blocks, ValueId nchw);
  /// The node takes the target's place; the bytes in NCHW are made of its blocks for whoever wants them.
  void finish(const QuantizedTarget& t, Node n);
  /// The same, if a kernel takes the node; returns whether one does.
  bool finish_if_it_runs(const QuantizedTarget& t, Node n);
  /// The same for bytes that are in NCHW.
  bool finish_in_nchw(const QuantizedTarget& t, Node n);

 private:
  const KernelCatalog& kernels;
  const Preference& preference;
};

/// Attributes clamp_low and clamp_high, with what is before their names.
void set_clamp(Node& n, const std::string& prefix, const Clamped& c);
/// The names in both lists.
std::vector<std::string> joined_origins(std::vector<std::string> a, const std::vector<std::string>& b);

// The rules. Each returns whether it has put a node in the target's place. `n` is a copy of the node that
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
/// What depends on one byte, in blocks or not. (quantized/function.cc)
bool quantize_function(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Mul with a number for each channel that is a byte too. (quantized/scale.cc)
bool quantize_gate(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Sums and products with a constant for each channel, as a normalization leaves them.
bool quantize_scale(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Concat of numbers, or of bytes. (quantized/concat.cc)
bool quantize_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
bool block_concat(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);
/// Resize to the nearest pixels and Split between blocks, of bytes. (quantized/movement.cc)
bool block_movement(QuantizedLayout& l, const QuantizedTarget& t, const Node& n);

}  // namespace lathe
