// Matrix products, Einstein sums, reductions, the k best, cumulative sums.
#include <numeric>

#include "network/family.h"
#include "network/maker.h"

namespace lathe {
namespace {

/// Returns the operand in the form of MatMul. A vector becomes a matrix of one row (left) or column (right).
ValueId operand(LayerMaker& m, ValueId v, MatrixOperation op, bool left) {
  if (op == MatrixOperation::none) return v;
  if (op == MatrixOperation::vector) return m.op("Unsqueeze", {v, m.ints({left ? -2 : -1})});
  std::vector<int64_t> permutation(m.rank(v));
  if (permutation.size() < 2)
    m.fail(Code::node_bad_shape, "a matrix to transpose", "a tensor of rank " + std::to_string(m.rank(v)));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 2], permutation.back());
  return m.op("Transpose", {v}, Attrs().ints("perm", permutation));
}

Layer top_k(LayerMaker& m, ValueId x, TopKOperation op, ValueId k, const TopKOptions& o) {
  if (o.index_type != DataType::int64 && o.index_type != DataType::int32)
    m.fail(Code::node_bad_type, "indices of type int64 or int32", std::string(name_of(o.index_type)));
  Attrs a;
  a.number("axis", o.axis);
  if (op == TopKOperation::min) a.number("largest", 0);
  std::vector<ValueId> out = m.ops("TopK", {x, k}, 2, a);
  if (o.index_type == DataType::int32) out[1] = m.op("Cast", {out[1]}, Attrs().type("to", o.index_type));
  return m.finish(out);
}

}  // namespace

Layer Network::add_matrix_multiply(const TensorRef& a, const TensorRef& b, const MatrixMultiplyOptions& o) {
  LayerMaker m(*this, "matrix_multiply", o.name);
  m.made_by("add_matrix_multiply", a, b, o);
  ValueId y = m.op("MatMul", {operand(m, m.use(a), o.op0, true), operand(m, m.use(b), o.op1, false)});
  std::vector<int64_t> gone;
  if (o.op0 == MatrixOperation::vector) gone.push_back(-2);
  if (o.op1 == MatrixOperation::vector) gone.push_back(-1);
  if (!gone.empty()) y = m.op("Squeeze", {y, m.ints(gone)});
  return m.finish(y);
}

Layer Network::add_einsum(const std::vector<TensorRef>& inputs, const std::string& equation,
                          const std::string& name) {
  LayerMaker m(*this, "einsum", name);
  m.made_by("add_einsum", inputs, equation, m.name());
  std::vector<ValueId> values;
  for (const TensorRef& t : inputs) values.push_back(m.use(t));
  return m.finish(m.op("Einsum", values, Attrs().text("equation", equation)));
}

Layer Network::add_reduce(const TensorRef& x, ReduceOperation op, const std::vector<int64_t>& axes,
                          const ReduceOptions& o) {
  LayerMaker m(*this, "reduce", o.name);
  m.made_by("add_reduce", x, op, axes, o);
  const Attrs a = Attrs().number("keepdims", o.keep_dimensions ? 1 : 0);
  // No axes: ONNX reduces them all.
  return m.finish(m.op(std::string(operator_of(op)), {m.use(x), axes.empty() ? no_id : m.ints(axes)}, a));
}

Layer Network::add_topk(const TensorRef& x, TopKOperation op, int64_t k, const TopKOptions& o) {
  LayerMaker m(*this, "topk", o.name);
  m.made_by("add_topk", x, op, k, o);
  return top_k(m, m.use(x), op, m.ints({k}), o);
}

Layer Network::add_topk(const TensorRef& x, TopKOperation op, const TensorRef& k, const TopKOptions& o) {
  LayerMaker m(*this, "topk", o.name);
  m.made_by("add_topk", x, op, k, o);
  return top_k(m, m.use(x), op, m.use(k), o);
}

Layer Network::add_cumulative(const TensorRef& x, CumulativeOperation op, int64_t axis,
                              const CumulativeOptions& o) {
  LayerMaker m(*this, "cumulative", o.name);
  m.made_by("add_cumulative", x, op, axis, o);
  Attrs a;
  if (o.exclusive) a.number("exclusive", 1);
  if (o.reverse) a.number("reverse", 1);
  return m.finish(
      m.op(op == CumulativeOperation::sum ? "CumSum" : "CumProd", {m.use(x), m.integer(axis)}, a));
}

}  // namespace lathe
