// The calls in which modules are written: those of Network, shortened, named after the module, and limited to
// operators that files of opset 18 can express.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/nn/module.h"

namespace lathe::nn {

/// One operand of a binary operation: a tensor, or a number that becomes a constant of the other operand's
/// type.
class Operand {
 public:
  /// Takes a tensor.
  Operand(TensorRef t) : tensor(std::move(t)) {}
  /// Takes output 0 of a layer.
  Operand(const Layer& l) : tensor(l) {}
  /// Takes a number.
  Operand(double number) : number(number) {}
  /// Takes a number.
  Operand(int number) : number(number) {}
  TensorRef tensor;   // undefined for a number
  double number = 0;  // counts where there is no tensor
};

/// Attributes of an operator by name.
using Attributes = std::vector<std::pair<std::string, OperatorAttribute>>;

/// Appends operators for a module, inside its `operator()`. Every call appends one ONNX operator unless it
/// says otherwise and returns its output; it throws what Network's calls throw. Cheap to make; as thread-safe
/// as its network.
class LATHE_API Ops {
 public:
  /// Appends to the network into which `m` is emitted, or to that of `x` where it is not (Emission). Throws
  /// bad_argument where there is neither.
  Ops(const Module& m, const TensorRef& x);
  /// Appends to this network, under generated names.
  explicit Ops(const Network& network);

  /// Returns the network.
  Network& network() const { return network_; }
  /// Returns a layer name for an operator that is not taken: "/encoder/layer.0/MatMul".
  std::string name_for(std::string_view op) const;

  // ── Constants
  /// Returns the parameter as a constant of the whole network, which is added once. Throws bad_argument where
  /// it is not bound or its module lacks it.
  TensorRef use(const Parameter& p) const;
  /// Adds a constant.
  TensorRef constant(const Tensor& t) const;
  TensorRef ints(const std::vector<int64_t>& v) const;  // adds a constant int64 [n]
  TensorRef integer(int64_t v) const;                   // adds a constant int64 []
  /// Adds a constant [] of a type of numbers. Throws node_bad_type for others.
  TensorRef scalar(double v, DataType type) const;
  /// Adds a constant [] of like's element type. Throws as above.
  TensorRef scalar(double v, const TensorRef& like) const;

  // ── Any operator
  /// Appends any operator of ai.onnx in its newest version and returns output 0.
  TensorRef op(const std::string& op, const std::vector<TensorRef>& inputs, const Attributes& a = {}) const;
  /// Appends any operator of ai.onnx in its newest version and returns its outputs.
  std::vector<TensorRef> ops(const std::string& op, const std::vector<TensorRef>& inputs, size_t outputs,
                             const Attributes& a = {}) const;

  // ── Element by element
  /// Returns a + b. Throws bad_argument, as all binary operations do, for two numbers.
  TensorRef add(const Operand& a, const Operand& b) const { return binary("Add", a, b); }
  /// Returns a - b.
  TensorRef sub(const Operand& a, const Operand& b) const { return binary("Sub", a, b); }
  /// Returns a · b, element by element.
  TensorRef mul(const Operand& a, const Operand& b) const { return binary("Mul", a, b); }
  /// Returns a / b; integers are truncated.
  TensorRef div(const Operand& a, const Operand& b) const { return binary("Div", a, b); }
  /// Returns a to the power of b.
  TensorRef pow(const Operand& a, const Operand& b) const { return binary("Pow", a, b); }
  /// Returns the smaller elements.
  TensorRef minimum(const Operand& a, const Operand& b) const { return binary("Min", a, b); }
  /// Returns the larger elements.
  TensorRef maximum(const Operand& a, const Operand& b) const { return binary("Max", a, b); }
  /// Returns a < b as bool.
  TensorRef less(const Operand& a, const Operand& b) const { return binary("Less", a, b); }
  /// Returns a ≤ b as bool.
  TensorRef less_equal(const Operand& a, const Operand& b) const { return binary("LessOrEqual", a, b); }
  /// Returns a > b as bool.
  TensorRef greater(const Operand& a, const Operand& b) const { return binary("Greater", a, b); }
  /// Returns a = b as bool.
  TensorRef equal(const Operand& a, const Operand& b) const { return binary("Equal", a, b); }
  /// Returns a ∧ b of bool tensors.
  TensorRef logical_and(const TensorRef& a, const TensorRef& b) const { return op("And", {a, b}); }
  /// Appends a binary operator by its ONNX name. Throws bad_argument for two numbers.
  TensorRef binary(const std::string& op, const Operand& a, const Operand& b) const;
  /// Returns a where condition (bool) is true, elsewhere b. Throws bad_argument for two numbers.
  TensorRef where(const TensorRef& condition, const Operand& a, const Operand& b) const;
  /// Returns x as another type; x itself where it has that type.
  TensorRef cast(const TensorRef& x, DataType to) const;
  /// Returns x as the type of `like`; x itself where it has that type.
  TensorRef cast_like(const TensorRef& x, const TensorRef& like) const {
    return cast(x, like.element_type());
  }

  // ── Products, sums, norms
  /// Returns the matrix product with broadcast batch axes.
  TensorRef matmul(const TensorRef& a, const TensorRef& b) const { return op("MatMul", {a, b}); }
  /// Returns the softmax along an axis.
  TensorRef softmax(const TensorRef& x, int64_t axis = -1) const;
  /// Returns the mean over axes; `keep` keeps them with size 1.
  TensorRef mean(const TensorRef& x, const std::vector<int64_t>& axes, bool keep = true) const;
  /// Returns the sum over axes; `keep` keeps them with size 1.
  TensorRef sum(const TensorRef& x, const std::vector<int64_t>& axes, bool keep = true) const;

  // ── Shapes
  /// Permutes the axes: output axis i is input axis permutation[i].
  TensorRef transpose(const TensorRef& x, const std::vector<int64_t>& permutation) const;
  /// Reshapes x: 0 copies the size of that axis, -1 is what remains.
  TensorRef reshape(const TensorRef& x, const std::vector<int64_t>& shape) const;
  /// Reshapes x to `shape`, int64 [rank], in which 0 and -1 mean the same.
  TensorRef reshape(const TensorRef& x, const TensorRef& shape) const { return op("Reshape", {x, shape}); }
  /// Removes axes of size 1.
  TensorRef squeeze(const TensorRef& x, const std::vector<int64_t>& axes) const;
  /// Inserts axes of size 1, which are `axes` of the output.
  TensorRef unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes) const;
  /// Broadcasts x to `shape`, int64 [rank].
  TensorRef expand(const TensorRef& x, const TensorRef& shape) const { return op("Expand", {x, shape}); }
  /// Concatenates tensors along an axis.
  TensorRef concat(const std::vector<TensorRef>& parts, int64_t axis) const;
  /// Splits x along an axis into tensors of these sizes.
  std::vector<TensorRef> split(const TensorRef& x, const std::vector<int64_t>& sizes, int64_t axis) const;
  /// Returns the elements from, from + step, … below `to` of one axis; negative numbers count from its end.
  TensorRef slice(const TensorRef& x, int64_t axis, int64_t from, int64_t to, int64_t step = 1) const;
  /// Returns the elements from `from` to below `to`, int64 [1], of one axis.
  TensorRef slice(const TensorRef& x, int64_t axis, const TensorRef& from, const TensorRef& to) const;
  /// Returns element `i` of an axis, without that axis.
  TensorRef select(const TensorRef& x, int64_t axis, int64_t i) const;
  /// Returns the slices of an axis that int32 or int64 indices name.
  TensorRef gather(const TensorRef& x, const TensorRef& indices, int64_t axis = 0) const;
  /// Returns the size of an axis, int64 [1]; a constant where it is known. Throws node_bad_attribute for an
  /// axis that there is not.
  TensorRef size(const TensorRef& x, int64_t axis) const;
  /// Returns 0, 1, …, n - 1 as int64 [n] for `n`, int64 [1]. Appends two operators.
  TensorRef range(const TensorRef& n) const;

 private:
  mutable Network network_;
  std::string path_;  // "/encoder/layer.0/"
};

/// Returns x · Φ(x) by erf (GELU; Hendrycks and Gimpel 2016). Appends several operators. This one and the
/// next two name their operators after `o`'s module.
LATHE_API TensorRef gelu(const Ops& o, const TensorRef& x);
/// Returns the approximation of gelu() by tanh. Appends several operators.
LATHE_API TensorRef gelu_tanh(const Ops& o, const TensorRef& x);
/// Returns x · sigmoid(x) (SiLU). Appends two operators.
LATHE_API TensorRef silu(const Ops& o, const TensorRef& x);
/// Returns max(x, 0). This one and those below append to the network of `x`, under generated names.
LATHE_API TensorRef relu(const TensorRef& x);
/// Returns x · Φ(x) by erf.
LATHE_API TensorRef gelu(const TensorRef& x);
/// Returns x · sigmoid(x).
LATHE_API TensorRef silu(const TensorRef& x);
/// Returns tanh(x).
LATHE_API TensorRef tanh(const TensorRef& x);
/// Returns 1 / (1 + e^-x).
LATHE_API TensorRef sigmoid(const TensorRef& x);
/// Applies the activation of a name that Hugging Face's configurations use ("gelu", "gelu_new",
/// "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu", "relu2", "relu6", "silu", "swish", "tanh",
/// "sigmoid", "mish", "leaky_relu", "hardswish", "linear", …). Throws bad_argument, with similar names.
/// transformers: ACT2FN.
LATHE_API TensorRef activate(const Ops& o, std::string_view name, const TensorRef& x);

}  // namespace lathe::nn
