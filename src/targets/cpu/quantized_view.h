// Recognizes the quantized arithmetic of a graph: values that are bytes with a scale and a zero point, and
// floats that folding made of such weights.
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

/// Constant integers with scales. They may be absent from the graph, since folding has made floats of them.
struct QuantizedWeights {
  Fold::Operand bytes, scale, zero;  // zero: null where it is left out
  int64_t axis = 0;                  // along which scales differ, if there are many
  const Tensor& tensor() const { return bytes.constant->tensor(); }
  size_t scales() const { return static_cast<size_t>(scale.constant->tensor().size()); }
};

/// The input of a QuantizeLinear, before activations that only clamp it.
struct Clamped {
  ValueId value;  // before them
  float low, high;
};

class QuantizedView {
 public:
  /// Both outlive the object. It reads the contents of constants.
  QuantizedView(Graph& g, const Folds& folds) : graph_(g), folds_(folds), uses_(g.uses()) {}

  /// Returns the bytes and parameters of a value that DequantizeLinear makes of bytes that are not constant.
  std::optional<QuantizedValue> number(ValueId v) const;
  /// The quantization parameters of a QuantizeLinear of one scale: its output, scale and zero point.
  std::optional<QuantizedValue> stored(const Node& quantize) const;
  std::optional<QuantizedWeights> weights(ValueId v) const;
  /// Goes up from `v` through Relu and Clip whose results nothing else reads.
  std::optional<Clamped> clamped(ValueId v) const;
  /// True if only one node read it in the graph as it was when this was made.
  bool read_once(ValueId v) const;
  /// Returns that node; no_id if there are others, or the value is an output.
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

/// Returns whether a kernel supports the node. It need not be in the graph, but its inputs and outputs must
/// be.
bool has_kernel(const Graph& g, const Node& n, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
