#include "onnx/known_value.h"

#include <algorithm>

#include "eval/eval.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The most bytes of an operand, and of all results of one node.
constexpr uint64_t max_bytes = uint64_t{1} << 20;
/// The least that a node takes from the budget.
constexpr int64_t min_terms = int64_t{1} << 12;
/// The longest chain of nodes, which is followed by recursion.
constexpr int max_depth = 500;

bool is_small(const Value& v) { return !v.is_tensor() || v.tensor().bytes() <= max_bytes; }

/// The steps of a loop over all axes; some kernels do so even for empty tensors.
double steps_of(const Value& v) {
  double steps = 1;
  if (v.is_tensor())
    for (int64_t size : v.tensor().shape()) steps *= static_cast<double>(std::max<int64_t>(size, 1));
  if (v.is_sequence())
    for (const Value& item : *v.sequence().items) steps += steps_of(item);
  return steps;
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
  // Shape arithmetic knows sizes of values that only a run has.
  std::optional<Value> value;
  if (const auto values = state_.values(g, v)) value = tensor_of(info.type, *values);
  if (!value && info.producer != no_id && depth < max_depth) value = computed(g, v, depth);
  known_.insert_or_assign({&g, v}, value);
  return value;
}

std::optional<Value> KnownValues::computed(const Graph& g, ValueId v, int depth) {
  const NodeId id = g.value(v).producer;
  const Node& n = g.node(id);
  const OpSchema* schema = catalog_.find(n.domain, n.op);
  if (!schema || !schema->deterministic() || !n.bodies.empty() || terms_left_ < min_terms)
    return std::nullopt;
  std::vector<Value> inputs;
  double terms = 1;
  for (ValueId in : n.inputs) {
    auto value = in == no_id ? Value() : find(g, in, depth + 1);
    if (!value) return std::nullopt;
    terms *= steps_of(*value);  // an Einsum has that many terms
    inputs.push_back(*std::move(value));
  }
  if (terms > static_cast<double>(terms_left_) || terms_left_ < min_terms) return std::nullopt;
  terms_left_ -= std::max(static_cast<int64_t>(terms), min_terms);
  try {
    std::vector<Value> made = evaluate_node(g, id, inputs, {.control = control_, .memory_limit = max_bytes});
    return std::move(made.at(g.value(v).output));
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
    return std::nullopt;
  }
}

}  // namespace lathe
