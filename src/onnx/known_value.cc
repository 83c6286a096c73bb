#include "onnx/known_value.h"

#include <algorithm>

#include "eval/eval.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Bytes of an operand, and of all that one node makes.
constexpr uint64_t most_bytes = uint64_t{1} << 20;
/// Of the elements of a node's operands, multiplied: an Einsum goes over so many terms. A hostile model must
/// not keep the importer busy.
constexpr int64_t most_terms = int64_t{1} << 22;
/// Nodes one after the other, which are followed by recursion.
constexpr int max_depth = 500;

bool is_small(const Value& v) { return !v.is_tensor() || v.tensor().bytes() <= most_bytes; }

int64_t elements_of(const Value& v) {
  if (v.is_tensor()) return std::max<int64_t>(v.tensor().size(), 1);
  int64_t sum = 1;
  if (v.is_sequence())
    for (const Value& item : *v.sequence().items) sum += elements_of(item);
  return sum;
}

}  // namespace

std::optional<Value> KnownValues::of(const Graph& g, ValueId v) {
  known_.clear();
  return find(g, v, 0);
}

std::optional<Value> KnownValues::find(const Graph& g, ValueId v, int depth) {
  const ValueInfo& info = g.value(v);
  if (info.is_constant()) return is_small(*info.constant) ? std::optional(*info.constant) : std::nullopt;
  if (info.captured != no_id) return g.parent() ? find(*g.parent(), info.captured, depth) : std::nullopt;
  if (const auto at = known_.find({&g, v}); at != known_.end()) return at->second;
  auto value = followed(g, v);
  if (!value && info.producer != no_id && depth < max_depth) value = computed(g, v, depth);
  known_.insert_or_assign({&g, v}, value);
  return value;
}

/// What shape arithmetic knows already: sizes of values that a run gives are among it.
std::optional<Value> KnownValues::followed(const Graph& g, ValueId v) const {
  const auto values = state_.values(g, v);
  const ValueType& type = g.value(v).type;
  if (!values || !type.is_tensor() || !type.shape || type.elem == DataType::undefined ||
      type.elem == DataType::string)
    return std::nullopt;
  Shape shape;
  for (const Dim& d : *type.shape) {
    if (!d.is_constant()) return std::nullopt;
    shape.push_back(d.constant());
  }
  if (count_of(shape) != static_cast<int64_t>(values->size())) return std::nullopt;
  Tensor t(type.elem, std::move(shape));
  for (size_t i = 0; i < values->size(); ++i) {
    const Dim& d = (*values)[i];
    if (!d.is_constant()) return std::nullopt;
    if (is_float(type.elem))
      store_double(t, static_cast<int64_t>(i), static_cast<double>(d.constant()));
    else
      store_int(t, static_cast<int64_t>(i), d.constant());
  }
  return Value(std::move(t));
}

std::optional<Value> KnownValues::computed(const Graph& g, ValueId v, int depth) {
  const NodeId id = g.value(v).producer;
  const Node& n = g.node(id);
  const OpSchema* schema = catalog_.find(n.domain, n.op);
  if (!schema || !schema->deterministic() || !n.bodies.empty() || nodes_left_ == 0) return std::nullopt;
  std::vector<Value> inputs;
  int64_t terms = 1;
  for (ValueId in : n.inputs) {
    auto value = in == no_id ? Value() : find(g, in, depth + 1);
    if (!value || elements_of(*value) > most_terms / terms) return std::nullopt;
    terms *= elements_of(*value);
    inputs.push_back(*std::move(value));
  }
  if (nodes_left_ == 0) return std::nullopt;
  --nodes_left_;
  try {
    std::vector<Value> made = evaluate_node(g, id, inputs, {.control = control_, .memory_limit = most_bytes});
    return std::move(made.at(g.value(v).output));
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
    return std::nullopt;
  }
}

}  // namespace lathe
