#include "passes/pass.h"
#include "tensor/element.h"

namespace lathe {

void collect_all_passes(PassList&);  // generated

const PassList& all_passes() {
  static const PassList list = [] {
    PassList all;
    collect_all_passes(all);
    return all;
  }();
  return list;
}

namespace {

/// Constants with more elements are weights, whose contents passes do not read.
constexpr int64_t max_equal_elements = 65536;

}  // namespace

const Node* View::made_by(ValueId v, std::string_view op) const {
  const NodeId id = producer(v);
  if (id == no_id) return nullptr;
  const Node& n = graph_.node(id);
  return n.alive && is(n, op) && n.outputs[0] == v ? &n : nullptr;
}

const ValueType& View::type(ValueId v) const {
  static const ValueType none;
  return v == no_id ? none : graph_.value(v).type;
}

std::optional<size_t> View::rank(ValueId v) const {
  const ValueType& t = type(v);
  if (!t.is_tensor() || !t.shape) return std::nullopt;
  return t.shape->size();
}

bool View::same_type(ValueId a, ValueId b) const {
  const ValueType &x = type(a), &y = type(b);
  return x.is_tensor() && y.is_tensor() && x.elem == y.elem && x.shape && y.shape && *x.shape == *y.shape;
}

const Tensor* View::constant(ValueId v) const { return graph_.constant_tensor(v); }

const Tensor* View::contents(ValueId v) const {
  if (v == no_id || exchangeable_.contains(graph_.value(v).constant.get())) return nullptr;
  return constant(v);
}

ValueId View::first_like(ValueId v) const {
  if (!contents(v)) return v;
  const ValueId first = constants_.first_like(graph_, v);
  return contents(first) ? first : v;
}

std::optional<double> View::uniform(ValueId v) const {
  const Tensor* t = contents(v);
  if (!t || t->type() == DataType::string || t->size() == 0 || t->size() > max_equal_elements)
    return std::nullopt;
  const double first = load_double(*t, 0);
  for (int64_t i = 1; i < t->size(); ++i)
    if (load_double(*t, i) != first) return std::nullopt;
  return first;
}

std::optional<std::vector<Dim>> View::sizes(ValueId v) const {
  if (v == no_id || exchangeable_.contains(graph_.value(v).constant.get())) return std::nullopt;
  const auto list = state_.values(graph_, v);
  if (!list) return std::nullopt;
  return std::vector<Dim>(list->begin(), list->end());
}

std::optional<std::vector<int64_t>> View::integers(ValueId v) const {
  const auto list = sizes(v);
  if (!list) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim& d : *list) {
    if (!d.is_constant()) return std::nullopt;
    numbers.push_back(d.constant());
  }
  return numbers;
}

std::optional<Patch> forward(const View& view, NodeId id, ValueId by, std::string reason) {
  const ValueId from = view.node(id).outputs[0];
  if (view.is_output(from)) return std::nullopt;
  Patch p(std::move(reason));
  p.replace_uses(from, by);
  p.remove(id);
  return p;
}

}  // namespace lathe
