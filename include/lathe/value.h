// What flows along an edge: a tensor, a sparse tensor, a sequence, a map, or nothing (an empty optional).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lathe/tensor.h"

namespace lathe {

class Value;

/// Coordinate format: `values` [NNZ], `indices` int64 [NNZ, rank] (or [NNZ], linear), sorted.
struct SparseTensor {
  Tensor values;
  Tensor indices;
  Shape shape;
};

/// Elements of one type. Copies share; kernels that change a sequence make a new one. `elem` is the element
/// type of an empty sequence of tensors.
struct Sequence {
  std::shared_ptr<std::vector<Value>> items = std::make_shared<std::vector<Value>>();
  DataType elem = DataType::undefined;
};

/// `keys`: int64 or string [n], in the order of the file; `values`: n values.
struct Map {
  Tensor keys;
  Sequence values;
};

/// A variant of all kinds; monostate is the empty optional (a present optional is the value itself).
class Value {
 public:
  Value() = default;
  Value(Tensor t) : v_(std::move(t)) {}
  Value(SparseTensor t) : v_(std::make_shared<const SparseTensor>(std::move(t))) {}
  Value(Sequence s) : v_(std::move(s)) {}
  Value(Map m) : v_(std::make_shared<const Map>(std::move(m))) {}

  bool empty() const { return std::holds_alternative<std::monostate>(v_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(v_); }
  bool is_sparse() const { return std::holds_alternative<Sparse>(v_); }
  bool is_sequence() const { return std::holds_alternative<Sequence>(v_); }
  bool is_map() const { return std::holds_alternative<Entries>(v_); }

  Tensor& tensor() { return std::get<Tensor>(v_); }
  const Tensor& tensor() const { return std::get<Tensor>(v_); }
  const SparseTensor& sparse() const { return *std::get<Sparse>(v_); }
  Sequence& sequence() { return std::get<Sequence>(v_); }
  const Sequence& sequence() const { return std::get<Sequence>(v_); }
  const Map& map() const { return *std::get<Entries>(v_); }

 private:
  // Elsewhere, as what is seldom and large: a context has a Value for each value of its graph.
  using Sparse = std::shared_ptr<const SparseTensor>;
  using Entries = std::shared_ptr<const Map>;
  std::variant<std::monostate, Tensor, Sparse, Sequence, Entries> v_;
};

/// The value with all its tensors owned, so that it outlives the step that made it.
LATHE_API Value owned(const Value& v);
/// "float32[2, 3]", "sequence(3 of float32)".
LATHE_API std::string describe(const Value& v);

}  // namespace lathe
