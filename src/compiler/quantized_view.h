// Recognizes the quantized arithmetic of a graph: values that are bytes with a scale and a zero point, and
// what folding made of such weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/fold.h"
#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

inline bool is_eight_bits(const ValueType& t) {
  return t.is_tensor() && (t.elem == DataType::int8 || t.elem == DataType::uint8);
}

/// (bytes - zero) * scale, one scale for all.
struct QuantizedValue {
  ValueId bytes, scale, zero;  // zero: no_id where it is left out
};

/// Constant integers with scales. Not in the graph, perhaps, since folding has made floats of them.
struct QuantizedWeights {
  Fold::Operand bytes, scale, zero;  // zero: null where it is left out
  int64_t axis = 0;                  // of the scales, where they are many
  const Tensor& tensor() const { return bytes.constant->tensor(); }
  size_t scales() const { return static_cast<size_t>(scale.constant->tensor().size()); }
};

/// What QuantizeLinear is given, through the activations that only clamp.
struct Clamped {
  ValueId value;  // before them
  float low, high;
};

class QuantizedView {
 public:
  /// Both outlive it. Contents of constants are looked at.
  QuantizedView(Graph& g, const Folds& folds) : graph_(g), folds_(folds), uses_(g.uses()) {}

  /// A value made by DequantizeLinear of bytes that are not constant.
  std::optional<QuantizedValue> number(ValueId v) const;
  /// The quantization parameters of a QuantizeLinear of one scale: its output, scale and zero point.
  std::optional<QuantizedValue> stored(const Node& quantize) const;
  std::optional<QuantizedWeights> weights(ValueId v) const;
  /// Goes up from `v` through Relu and Clip whose results nobody else reads.
  std::optional<Clamped> clamped(ValueId v) const;
  /// Only one node reads it, as the graph was when this was made.
  bool read_once(ValueId v) const;
  /// That node; no_id: there are others, or it is an output.
  NodeId reader(ValueId v) const { return read_once(v) ? uses_[v][0].node : no_id; }

  /// A constant of weights, as a value of the graph.
  ValueId add(const Fold::Operand& constant);
  /// The zero point, made where it was left out: 0 of the type of `like`.
  ValueId zero_or_made(ValueId zero, ValueId like);
  ValueId zero_or_made(const QuantizedWeights& w);

  std::optional<float> single_float(ValueId v) const;
  /// True if `v` is one constant scale that integers may be computed with: positive, neither tiny nor huge.
  bool is_scale(ValueId v) const;
  /// True if `v` holds constant scales of weights that integers may be computed with: finite and not huge.
  bool are_weight_scales(ValueId v) const;

 private:
  static bool are_weight_scales(const Tensor& t);
  ValueId add_zero(DataType type);

  Graph& graph_;
  const Folds& folds_;
  std::vector<std::vector<Use>> uses_;
};

/// Would a kernel take the node? It need not be in the graph, but what it reads and makes must be.
bool has_kernel(const Graph& g, const Node& n, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
