// The value of an edge of a graph: a tensor, a sparse tensor, a sequence, a map, or nothing (an empty
// optional).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lathe/tensor.h"

namespace lathe {

class Value;

/// A sparse tensor in coordinate format (ONNX: SparseTensorProto); the indices are sorted.
struct SparseTensor {
  Tensor values;   // the elements that are not zero, [NNZ]
  Tensor indices;  // int64 [NNZ, rank], or linear [NNZ]
  Shape shape;     // shape of the dense tensor
};

/// A sequence of values of one type (ONNX: sequence type). Copies share the elements; kernels that change a
/// sequence make a new one.
struct Sequence {
  /// The elements; never null.
  std::shared_ptr<std::vector<Value>> items = std::make_shared<std::vector<Value>>();
  DataType elem = DataType::undefined;  // element type of an empty sequence of tensors
};

/// A map (ONNX: map type), entries in the order of the file.
struct Map {
  Tensor keys;      // int64 or string [n]
  Sequence values;  // n values
};

/// A value of any kind of the ONNX standard. An optional is the value itself, or empty. As thread-safe as
/// plain data; copies share memory.
class Value {
 public:
  /// Makes an empty optional.
  Value() = default;
  /// Makes a tensor.
  Value(Tensor t) : v_(std::move(t)) {}
  /// Makes a sparse tensor.
  Value(SparseTensor t) : v_(std::make_shared<const SparseTensor>(std::move(t))) {}
  /// Makes a sequence.
  Value(Sequence s) : v_(std::move(s)) {}
  /// Makes a map.
  Value(Map m) : v_(std::make_shared<const Map>(std::move(m))) {}

  /// Returns whether it is an empty optional.
  bool empty() const { return std::holds_alternative<std::monostate>(v_); }
  /// Returns whether it is a dense tensor.
  bool is_tensor() const { return std::holds_alternative<Tensor>(v_); }
  /// Returns whether it is a sparse tensor.
  bool is_sparse() const { return std::holds_alternative<Sparse>(v_); }
  /// Returns whether it is a sequence.
  bool is_sequence() const { return std::holds_alternative<Sequence>(v_); }
  /// Returns whether it is a map.
  bool is_map() const { return std::holds_alternative<Entries>(v_); }

  /// Returns the tensor; throws std::bad_variant_access where it is none.
  Tensor& tensor() { return std::get<Tensor>(v_); }
  const Tensor& tensor() const { return std::get<Tensor>(v_); }
  /// Returns the sparse tensor; throws std::bad_variant_access where it is none.
  const SparseTensor& sparse() const { return *std::get<Sparse>(v_); }
  /// Returns the sequence; throws std::bad_variant_access where it is none.
  Sequence& sequence() { return std::get<Sequence>(v_); }
  const Sequence& sequence() const { return std::get<Sequence>(v_); }
  /// Returns the map; throws std::bad_variant_access where it is none.
  const Map& map() const { return *std::get<Entries>(v_); }

 private:
  // These are behind pointers, since they are rare and large: a context has a Value for each value of its
  // graph.
  using Sparse = std::shared_ptr<const SparseTensor>;
  using Entries = std::shared_ptr<const Map>;
  std::variant<std::monostate, Tensor, Sparse, Sequence, Entries> v_;
};

/// Returns the value with all its tensors owned, so that it outlives the step that made it.
LATHE_API Value owned(const Value& v);
/// Returns type and shape as text: "float32[2, 3]", "sequence(3 of float32)".
LATHE_API std::string describe(const Value& v);

}  // namespace lathe
