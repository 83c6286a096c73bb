#include "targets/cpu/lookup_tables.h"

#include <cstring>

#include "eval/eval.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

/// The most operators between one byte and another.
constexpr int longest_way = 24;
constexpr int64_t bytes = 256;

/// Returns whether each element of the result depends on the operands' elements at its place alone.
bool is_by_element(const Node& n) {
  return n.outputs.size() == 1 && (is_elementwise(n) || broadcasts(n) || View::is(n, "Clip"));
}

/// Returns a constant of one element, of any rank, as a scalar.
std::optional<Tensor> single(const Graph& g, ValueId v) {
  const Tensor* t = g.constant_tensor(v);
  if (!t || t->size() != 1 || bits_of(t->type()) < 8) return std::nullopt;
  Tensor scalar(t->type(), {});
  std::memcpy(scalar.data(), t->data(), t->bytes());
  return scalar;
}

}  // namespace

std::optional<LookupTables::Table> LookupTables::stored_by(NodeId quantize) {
  try {
    return evaluated(quantize);
  } catch (const Error&) {  // the run reports what the reference refuses
    return std::nullopt;
  }
}

std::optional<LookupTables::Table> LookupTables::evaluated(NodeId quantize) {
  const Node& n = graph_.node(quantize);
  const auto quant = view_.stored(n);
  const auto from = quant ? numbers(n.inputs[0], longest_way) : std::nullopt;
  if (!from) return std::nullopt;
  const Tensor scale = *single(graph_, quant->scale);
  std::vector<Value> inputs{from->of_byte, scale};
  if (quant->zero != no_id) inputs.push_back(*single(graph_, quant->zero));
  const Value made = evaluate_node(graph_, quantize, inputs, {.kernels = &kernels_})[0];
  Table t{from->of, {}};
  std::memcpy(t.entries.data(), made.tensor().data(), t.entries.size());
  tables_.insert_or_assign(quant->bytes, t);
  return t;
}

std::optional<LookupTables::Numbers> LookupTables::numbers(ValueId v, int depth) {
  if (const auto known = numbers_.find(v); known != numbers_.end()) return known->second;
  if (depth == 0) return std::nullopt;
  const NodeId maker = graph_.value(v).producer;
  std::optional<Numbers> found;
  if (maker != no_id) found = view_.number(v) ? dequantized(v) : computed(maker, depth);
  numbers_.emplace(v, found);
  return found;
}

std::optional<LookupTables::Numbers> LookupTables::dequantized(ValueId v) const {
  const QuantizedValue q = *view_.number(v);
  const auto table = tables_.find(q.bytes);
  Tensor x(graph_.value(q.bytes).type.elem, {bytes});
  auto* const to = static_cast<uint8_t*>(x.data());
  for (size_t i = 0; i < bytes; ++i)
    to[i] = table == tables_.end() ? static_cast<uint8_t>(i) : table->second.entries[i];
  std::vector<Value> inputs{std::move(x), *single(graph_, q.scale)};
  if (q.zero != no_id) inputs.push_back(*single(graph_, q.zero));
  const NodeId node = graph_.value(v).producer;
  return Numbers{table == tables_.end() ? q.bytes : table->second.of,
                 evaluate_node(graph_, node, inputs, {.kernels = &kernels_})[0].tensor()};
}

std::optional<LookupTables::Numbers> LookupTables::computed(NodeId id, int depth) {
  const Node& n = graph_.node(id);
  if (!is_by_element(n)) return std::nullopt;
  ValueId of = no_id;
  std::vector<Value> inputs;
  for (ValueId v : n.inputs) {
    if (v == no_id) {
      inputs.emplace_back();
    } else if (graph_.value(v).is_constant()) {
      auto number = single(graph_, v);
      if (!number) return std::nullopt;
      inputs.emplace_back(*std::move(number));
    } else {
      const auto operand = numbers(v, depth - 1);
      if (!operand || (of != no_id && of != operand->of)) return std::nullopt;
      of = operand->of;
      inputs.emplace_back(operand->of_byte);
    }
  }
  const auto &from = graph_.value(of == no_id ? n.outputs[0] : of).type.shape,
             &to = graph_.value(n.outputs[0]).type.shape;
  if (of == no_id || !from || !to || *from != *to) return std::nullopt;
  return Numbers{of, evaluate_node(graph_, id, inputs, {.kernels = &kernels_})[0].tensor()};
}

}  // namespace lathe
