// The words that modules are written in: what Network has, shortened, named after the module, and in
// operators that files of opset 18 can say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/nn/module.h"

namespace lathe::nn {

/// One side of an operation of two: a tensor, or a number that becomes one of the other side's type.
class Operand {
 public:
  Operand(TensorRef t) : tensor(std::move(t)) {}
  Operand(const Layer& l) : tensor(l) {}
  Operand(double number) : number(number) {}
  Operand(int number) : number(number) {}
  TensorRef tensor;
  double number = 0;
};

using Attributes = std::vector<std::pair<std::string, OperatorAttribute>>;

/// Appends operators for a module, inside its `operator()`. Every call is one ONNX operator unless it says
/// otherwise; all throw what Network's calls throw. Cheap to make.
class LATHE_API Ops {
 public:
  /// To the network that `m` is emitted to; to that of `x` where it is not (Emission).
  Ops(const Module& m, const TensorRef& x);
  /// To this network, under names made up.
  explicit Ops(const Network& network);

  Network& network() const { return network_; }
  /// A layer name for that operator that is not taken: "/encoder/layer.0/MatMul".
  std::string name_for(std::string_view op) const;

  // ── Constants
  /// The parameter as a constant of the whole network, added once. Throws bad_argument where it is not bound
  /// or its module lacks it.
  TensorRef use(const Parameter& p) const;
  TensorRef constant(const Tensor& t) const;
  TensorRef ints(const std::vector<int64_t>& v) const;      // int64 [n]
  TensorRef integer(int64_t v) const;                       // int64 []
  TensorRef scalar(double v, DataType type) const;          // []
  TensorRef scalar(double v, const TensorRef& like) const;  // [], of like's type

  // ── Any operator
  TensorRef op(const std::string& op, const std::vector<TensorRef>& inputs, const Attributes& a = {}) const;
  std::vector<TensorRef> ops(const std::string& op, const std::vector<TensorRef>& inputs, size_t outputs,
                             const Attributes& a = {}) const;

  // ── Element by element
  TensorRef add(const Operand& a, const Operand& b) const { return binary("Add", a, b); }
  TensorRef sub(const Operand& a, const Operand& b) const { return binary("Sub", a, b); }
  TensorRef mul(const Operand& a, const Operand& b) const { return binary("Mul", a, b); }
  TensorRef div(const Operand& a, const Operand& b) const { return binary("Div", a, b); }
  TensorRef pow(const Operand& a, const Operand& b) const { return binary("Pow", a, b); }
  TensorRef minimum(const Operand& a, const Operand& b) const { return binary("Min", a, b); }
  TensorRef maximum(const Operand& a, const Operand& b) const { return binary("Max", a, b); }
  TensorRef less(const Operand& a, const Operand& b) const { return binary("Less", a, b); }
  TensorRef less_equal(const Operand& a, const Operand& b) const { return binary("LessOrEqual", a, b); }
  TensorRef greater(const Operand& a, const Operand& b) const { return binary("Greater", a, b); }
  TensorRef equal(const Operand& a, const Operand& b) const { return binary("Equal", a, b); }
  TensorRef logical_and(const TensorRef& a, const TensorRef& b) const { return op("And", {a, b}); }
  TensorRef binary(const std::string& op, const Operand& a, const Operand& b) const;
  TensorRef where(const TensorRef& condition, const Operand& a, const Operand& b) const;
  /// `x` itself where it is of that type.
  TensorRef cast(const TensorRef& x, DataType to) const;
  TensorRef cast_like(const TensorRef& x, const TensorRef& like) const {
    return cast(x, like.element_type());
  }

  // ── Products, sums, norms
  TensorRef matmul(const TensorRef& a, const TensorRef& b) const { return op("MatMul", {a, b}); }
  TensorRef softmax(const TensorRef& x, int64_t axis = -1) const;
  TensorRef mean(const TensorRef& x, const std::vector<int64_t>& axes, bool keep = true) const;
  TensorRef sum(const TensorRef& x, const std::vector<int64_t>& axes, bool keep = true) const;

  // ── Shapes
  TensorRef transpose(const TensorRef& x, const std::vector<int64_t>& permutation) const;
  /// 0 copies the size at its place, -1 is what is left.
  TensorRef reshape(const TensorRef& x, const std::vector<int64_t>& shape) const;
  /// `shape`: int64 [rank], of which 0 and -1 mean the same.
  TensorRef reshape(const TensorRef& x, const TensorRef& shape) const { return op("Reshape", {x, shape}); }
  TensorRef squeeze(const TensorRef& x, const std::vector<int64_t>& axes) const;
  TensorRef unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes) const;
  /// `shape`: int64 [rank].
  TensorRef expand(const TensorRef& x, const TensorRef& shape) const { return op("Expand", {x, shape}); }
  TensorRef concat(const std::vector<TensorRef>& parts, int64_t axis) const;
  /// Parts of these sizes.
  std::vector<TensorRef> split(const TensorRef& x, const std::vector<int64_t>& sizes, int64_t axis) const;
  /// Elements from, from + step, … below `to` of one axis; negative numbers count from its end.
  TensorRef slice(const TensorRef& x, int64_t axis, int64_t from, int64_t to, int64_t step = 1) const;
  /// `from`, `to`: int64 [1].
  TensorRef slice(const TensorRef& x, int64_t axis, const TensorRef& from, const TensorRef& to) const;
  /// Element `i` of an axis, without that axis.
  TensorRef select(const TensorRef& x, int64_t axis, int64_t i) const;
  TensorRef gather(const TensorRef& x, const TensorRef& indices, int64_t axis = 0) const;
  /// int64 [1]: the size of an axis. A constant where it is known.
  TensorRef size(const TensorRef& x, int64_t axis) const;
  /// int64 [n]: 0, 1, …, n - 1; `n`: int64 [1]. Two operators.
  TensorRef range(const TensorRef& n) const;

 private:
  mutable Network network_;
  std::string path_;  // "/encoder/layer.0/"
};

/// Activations as functions of what they are called with, named after `o`'s module.
LATHE_API TensorRef gelu(const Ops& o, const TensorRef& x);       // by erf; several operators
LATHE_API TensorRef gelu_tanh(const Ops& o, const TensorRef& x);  // its approximation; several operators
LATHE_API TensorRef silu(const Ops& o, const TensorRef& x);       // x · sigmoid(x); two operators
/// The same under names that are made up, to the network of `x`.
LATHE_API TensorRef relu(const TensorRef& x);
LATHE_API TensorRef gelu(const TensorRef& x);
LATHE_API TensorRef silu(const TensorRef& x);
LATHE_API TensorRef tanh(const TensorRef& x);
LATHE_API TensorRef sigmoid(const TensorRef& x);
/// By the names that Hugging Face's configurations use ("gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast",
/// "quick_gelu", "relu", "relu2", "relu6", "silu", "swish", "tanh", "sigmoid", "mish", "leaky_relu",
/// "hardswish", "linear", …). Throws bad_argument with names that are near.
LATHE_API TensorRef activate(const Ops& o, std::string_view name, const TensorRef& x);

}  // namespace lathe::nn
