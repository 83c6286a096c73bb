// Tensors out of nothing: numbers in a row, random numbers.
#include <numeric>

#include "network/maker.h"

namespace lathe {
namespace {

/// alpha + Σ beta[d] · index[d]; `sizes`: of each axis, int64 [1].
ValueId linspace(LayerMaker& m, const std::vector<ValueId>& sizes, const FillOptions& o) {
  if (o.beta.size() != sizes.size())
    m.fail(Code::node_bad_attribute, "a beta for each of " + std::to_string(sizes.size()) + " axes",
           std::to_string(o.beta.size()));
  ValueId sum = m.scalar(o.type, o.alpha);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const ValueId n = m.op("Squeeze", {sizes[d], m.ints({0})});
    ValueId index =
        m.op("Cast", {m.op("Range", {m.integer(0), n, m.integer(1)})}, Attrs().type("to", o.type));
    if (d + 1 < sizes.size()) {
      std::vector<int64_t> behind(sizes.size() - d - 1);
      std::iota(behind.begin(), behind.end(), 1);
      index = m.op("Unsqueeze", {index, m.ints(behind)});
    }
    sum = m.op("Add", {sum, m.op("Mul", {index, m.scalar(o.type, o.beta[d])})});
  }
  return sum;
}

Attrs random_attributes(LayerMaker& m, FillOperation op, const FillOptions& o) {
  if (o.beta.size() != 1) m.fail(Code::node_bad_attribute, "one beta", std::to_string(o.beta.size()));
  const bool uniform = op == FillOperation::random_uniform;
  Attrs a;
  a.type("dtype", o.type).with("seed", o.seed);
  a.with(uniform ? "low" : "mean", static_cast<float>(o.alpha));
  a.with(uniform ? "high" : "scale", static_cast<float>(o.beta[0]));
  return a;
}

ValueId random_like(LayerMaker& m, FillOperation op, ValueId shape, const FillOptions& o) {
  const ValueId like = m.op("ConstantOfShape", {shape});
  return m.op(op == FillOperation::random_uniform ? "RandomUniformLike" : "RandomNormalLike", {like},
              random_attributes(m, op, o));
}

}  // namespace

Layer Network::add_fill(const Sizes& shape, FillOperation op, const FillOptions& o) {
  LayerMaker m(*this, "fill", o.name);
  m.made_by("add_fill", shape, op, o);
  SymShape wanted;
  std::vector<int64_t> numbers;
  for (const Size& s : shape) {
    wanted.push_back(s.dim());
    if (s.dim().is_constant()) numbers.push_back(s.dim().constant());
  }
  if (op == FillOperation::linspace) {
    std::vector<ValueId> sizes;
    for (const Dim& d : wanted) sizes.push_back(m.size(d));
    return m.finish(linspace(m, sizes, o));
  }
  if (numbers.size() != wanted.size()) return m.finish(random_like(m, op, m.sizes(wanted), o));
  Attrs a = random_attributes(m, op, o);
  a.with("shape", numbers);
  return m.finish(m.op(op == FillOperation::random_uniform ? "RandomUniform" : "RandomNormal", {}, a));
}

Layer Network::add_fill(const TensorRef& shape, FillOperation op, const FillOptions& o) {
  LayerMaker m(*this, "fill", o.name);
  m.made_by("add_fill", shape, op, o);
  const ValueId s = m.use(shape);
  if (op != FillOperation::linspace) return m.finish(random_like(m, op, s, o));
  const SymShape& length = m.shape(s);
  if (length.size() != 1 || !length[0].is_constant())
    m.fail(Code::node_bad_shape, "a shape of known rank", "a tensor of shape " + lathe::describe(length));
  std::vector<ValueId> sizes;
  const int64_t rank = length[0].constant();
  for (int64_t d = 0; d < rank; ++d) sizes.push_back(m.op("Gather", {s, m.ints({d})}));
  return m.finish(linspace(m, sizes, o));
}

}  // namespace lathe
