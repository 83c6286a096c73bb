#include "lathe/nn/ops.h"

#include "nn/access.h"
#include "tensor/element.h"

namespace lathe::nn {
namespace {

Network network_of(const Module& m, const TensorRef& x) {
  if (const auto& place = detail::Access::place(m)) return place->network;
  if (!x) throw detail::fault(Code::bad_argument, "", "a tensor", "none");
  return NetworkAccess::network(x);
}

/// Returns "/encoder/layer.0/dense/" for "encoder.layer.0.dense": numbers stay with the list that they index.
std::string layer_path(const std::string& path) {
  std::string text = "/";
  for (size_t i = 0; i < path.size(); ++i) {
    const bool counts = i + 1 < path.size() && path[i + 1] >= '0' && path[i + 1] <= '9';
    text += path[i] == '.' && !counts ? '/' : path[i];
  }
  return text.size() > 1 ? text + "/" : text;
}

bool same_memory(const Tensor* a, const Tensor& b) {
  return a && a->data() == b.data() && a->type() == b.type() && a->shape() == b.shape();
}

}  // namespace

Ops::Ops(const Module& m, const TensorRef& x) : network_(network_of(m, x)) {
  if (const auto& place = detail::Access::place(m)) path_ = layer_path(place->path);
}

Ops::Ops(const Network& network) : network_(network) {}

std::string Ops::name_for(std::string_view op) const {
  if (path_.empty()) return {};
  const auto& taken = NetworkAccess::state(network_)->layer_names;
  std::string name = path_ + std::string(op);
  for (size_t i = 1; taken.contains(name); ++i) name = path_ + std::string(op) + "_" + std::to_string(i);
  return name;
}

TensorRef Ops::use(const Parameter& p) const {
  if (!p)
    throw detail::fault(Code::bad_argument, path_, "a parameter of the module",
                        "one that it was made without");
  const Tensor& t = p.value.tensor();
  // Weights used in bodies belong to the network around them, so that each is there once.
  Network root = NetworkAccess::network(NetworkAccess::state(network_), 0);
  const std::string wanted = p.name().empty() ? "weight" : p.name();
  std::string name = wanted;
  for (size_t i = 1;; ++i) {
    const auto there = root.find_tensor(name);
    if (!there) return root.add_constant(t, name);
    if (same_memory(there->constant(), t)) return *there;
    name = wanted + "_" + std::to_string(i);
  }
}

TensorRef Ops::constant(const Tensor& t) const {
  if (path_.empty()) return network_.add_constant(t);
  std::string name = path_ + "Constant";
  for (size_t i = 1; network_.find_tensor(name); ++i) name = path_ + "Constant_" + std::to_string(i);
  // A body cannot use a name of the network around it either.
  return network_.add_constant(t, NetworkAccess::graph(network_).fresh_name(name));
}

TensorRef Ops::ints(const std::vector<int64_t>& v) const {
  return constant(Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v));
}

TensorRef Ops::integer(int64_t v) const { return constant(Tensor::scalar<int64_t>(v)); }

TensorRef Ops::scalar(double v, DataType type) const {
  if (!is_float(type) && !is_integer(type) && type != DataType::boolean)
    throw detail::fault(Code::node_bad_type, path_, "a type of numbers", std::string(lathe::name_of(type)));
  Tensor t(type, Shape{});
  store_double(t, 0, v);
  return constant(t);
}

TensorRef Ops::scalar(double v, const TensorRef& like) const { return scalar(v, like.element_type()); }

TensorRef Ops::op(const std::string& op, const std::vector<TensorRef>& inputs, const Attributes& a) const {
  return network_.add_operator(op, inputs, {.attributes = a, .name = name_for(op)});
}

std::vector<TensorRef> Ops::ops(const std::string& op, const std::vector<TensorRef>& inputs, size_t outputs,
                                const Attributes& a) const {
  return network_.add_operator(op, inputs, {.attributes = a, .outputs = outputs, .name = name_for(op)})
      .outputs();
}

namespace {

std::pair<TensorRef, TensorRef> both(const Ops& o, const Operand& a, const Operand& b) {
  if (!a.tensor && !b.tensor)
    throw detail::fault(Code::bad_argument, "", "a tensor on one side at least", "two numbers");
  return {a.tensor ? a.tensor : o.scalar(a.number, b.tensor),
          b.tensor ? b.tensor : o.scalar(b.number, a.tensor)};
}

}  // namespace

TensorRef Ops::binary(const std::string& op, const Operand& a, const Operand& b) const {
  const auto [x, y] = both(*this, a, b);
  return this->op(op, {x, y});
}

TensorRef Ops::where(const TensorRef& condition, const Operand& a, const Operand& b) const {
  const auto [x, y] = both(*this, a, b);
  return op("Where", {condition, x, y});
}

TensorRef Ops::cast(const TensorRef& x, DataType to) const {
  return x.element_type() == to ? x : op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}

TensorRef Ops::softmax(const TensorRef& x, int64_t axis) const {
  return op("Softmax", {x}, {{"axis", axis}});
}

TensorRef Ops::mean(const TensorRef& x, const std::vector<int64_t>& axes, bool keep) const {
  return op("ReduceMean", {x, ints(axes)}, {{"keepdims", int64_t{keep}}});
}

TensorRef Ops::sum(const TensorRef& x, const std::vector<int64_t>& axes, bool keep) const {
  return op("ReduceSum", {x, ints(axes)}, {{"keepdims", int64_t{keep}}});
}

TensorRef Ops::transpose(const TensorRef& x, const std::vector<int64_t>& permutation) const {
  return op("Transpose", {x}, {{"perm", permutation}});
}

TensorRef Ops::reshape(const TensorRef& x, const std::vector<int64_t>& shape) const {
  return op("Reshape", {x, ints(shape)});
}

TensorRef Ops::squeeze(const TensorRef& x, const std::vector<int64_t>& axes) const {
  return op("Squeeze", {x, ints(axes)});
}

TensorRef Ops::unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes) const {
  return op("Unsqueeze", {x, ints(axes)});
}

TensorRef Ops::concat(const std::vector<TensorRef>& parts, int64_t axis) const {
  return op("Concat", parts, {{"axis", axis}});
}

std::vector<TensorRef> Ops::split(const TensorRef& x, const std::vector<int64_t>& sizes, int64_t axis) const {
  return ops("Split", {x, ints(sizes)}, sizes.size(), {{"axis", axis}});
}

TensorRef Ops::slice(const TensorRef& x, int64_t axis, int64_t from, int64_t to, int64_t step) const {
  std::vector<TensorRef> inputs{x, ints({from}), ints({to}), ints({axis})};
  if (step != 1) inputs.push_back(ints({step}));
  return op("Slice", inputs);
}

TensorRef Ops::slice(const TensorRef& x, int64_t axis, const TensorRef& from, const TensorRef& to) const {
  return op("Slice", {x, from, to, ints({axis})});
}

TensorRef Ops::select(const TensorRef& x, int64_t axis, int64_t i) const {
  return gather(x, integer(i), axis);
}

TensorRef Ops::gather(const TensorRef& x, const TensorRef& indices, int64_t axis) const {
  return op("Gather", {x, indices}, {{"axis", axis}});
}

TensorRef Ops::size(const TensorRef& x, int64_t axis) const {
  const SymShape shape = x.shape();
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank)
    throw detail::fault(Code::node_bad_attribute, path_, "an axis of " + x.type(), std::to_string(axis));
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (const auto n = shape[static_cast<size_t>(at)].value()) return ints({*n});
  return op("Shape", {x}, {{"start", at}, {"end", at + 1}});
}

TensorRef Ops::range(const TensorRef& n) const {
  return op("Range", {integer(0), squeeze(n, {0}), integer(1)});
}

}  // namespace lathe::nn
