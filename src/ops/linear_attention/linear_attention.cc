#include "ops/linear_attention/linear_attention.h"

#include <limits>

#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Without a past the state has the query's type.
DataType state_type(const Node& n, std::span<const ValueType> inputs) {
  const bool past = n.inputs.size() > 3 && n.inputs[3] != no_id;
  return inputs[past ? 3 : 0].elem;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// One step of all heads, inputs [batch, heads and sizes]: its output, and the next state.
struct Step {
  const LinearAttention& op;
  ValueId query, key, value, decay = no_id, beta = no_id;

  ValueId next_state(InsertContext& c, ValueId state) const {
    const ValueId k = reshaped(c, key, {0, op.kv_num_heads, -1, 1});
    ValueId change = reshaped(c, value, {0, op.kv_num_heads, 1, -1});
    if (decay != no_id) {
      const ValueId factor = one(c, "Exp", {reshaped(c, decay, {0, op.kv_num_heads, -1, 1})});
      state = one(c, "Mul", {state, factor});
    }
    if (beta != no_id) {
      const ValueId there = one(c, "MatMul", {transposed(c, k, {0, 1, 3, 2}), state});
      change = one(c, "Sub", {change, there});
      change = one(c, "Mul", {change, reshaped(c, beta, {0, -1, 1, 1})});
    }
    return one(c, "Add", {state, one(c, "MatMul", {k, change})});
  }
  ValueId read(InsertContext& c, ValueId state, ValueId scale) const {
    const int64_t shared = op.q_num_heads / op.kv_num_heads;
    const ValueId q = reshaped(c, query, {0, op.kv_num_heads, shared, -1});
    return reshaped(c, one(c, "Mul", {one(c, "MatMul", {q, state}), scale}), {0, -1});
  }
};

/// The type of a value whose axis 1 is walked along, at one step.
ValueType at_step(const ValueType& t) {
  ValueType r = t;
  if (r.shape) r.shape->erase(r.shape->begin() + 1);
  return r;
}

ValueId size_of_heads(DecomposeContext& c, ValueId v, int64_t heads) {
  return one(c, "Div", {length(c, v, 2), int_scalar(c, heads)});
}

/// A scan along the steps that carries the state.
std::vector<ValueId> linear_attention(DecomposeContext& c) {
  const auto op = decode<LinearAttention>(c.node().attributes);
  const DataType type = elem_of(c, input(c, 0));
  std::vector<ValueId> inputs{no_id};
  for (size_t i : {0, 1, 2, 4, 5})
    if (has(c, i)) inputs.push_back(widened(c, input(c, i)));
  const ValueId d_k = size_of_heads(c, input(c, 1), op.kv_num_heads);
  if (has(c, 3)) {
    inputs[0] = widened(c, input(c, 3));
  } else {
    const ValueId d_v = size_of_heads(c, input(c, 2), op.kv_num_heads);
    const ValueId shape = concat(c, {length(c, input(c, 0), 0), ints(c, {op.kv_num_heads}), d_k, d_v}, 0);
    inputs[0] = one(c, "ConstantOfShape", {shape});
  }
  ValueId scale = number(c, static_cast<double>(op.scale), DataType::float32);
  if (op.scale == 0)
    scale = one(c, "Reciprocal", {one(c, "Sqrt", {cast(c, scalar_of(c, d_k), DataType::float32)})});

  auto body = std::make_shared<Graph>(&c.graph());
  const auto inside = c.inside(*body);
  const ValueId state = body->add_input("state", c.type(inputs[0]));
  std::vector<ValueId> parts;
  for (size_t i = 1; i < inputs.size(); ++i)
    parts.push_back(body->add_input("part", at_step(c.type(inputs[i]))));
  Step step{op, parts[0], parts[1], parts[2]};
  if (has(c, 4)) step.decay = parts[3];
  if (has(c, 5)) step.beta = parts.back();
  const ValueId next = step.next_state(*inside, state);
  body->set_outputs({next, step.read(*inside, next, body->capture(scale))});

  const auto count = static_cast<int64_t>(parts.size());
  Attributes scan = with("num_scan_inputs", count);
  scan.set("scan_input_axes", std::vector<int64_t>(static_cast<size_t>(count), 1));
  scan.set("scan_output_axes", std::vector<int64_t>{1});
  const auto made = c.insert_with_bodies("Scan", std::move(inputs), std::move(scan), {{"body", body}}, 2);
  const DataType state_is = elem_of(c, input(c, has(c, 3) ? 3 : 0));
  return {cast(c, made[1], type), cast(c, made[0], state_is)};
}

/// A convolution of the concatenated state and input.
std::vector<ValueId> causal_conv(DecomposeContext& c) {
  const auto op = decode<CausalConvWithState>(c.node().attributes);
  const DataType type = elem_of(c, input(c, 0));
  const auto channels = known(size_of(c, input(c, 1), 0));
  if (!channels) unsupported("a known number of channels", c.input_type(1).str());
  const ValueId x = widened(c, input(c, 0)), weight = widened(c, input(c, 1));
  ValueId before = no_id;
  if (has(c, 3)) {
    before = widened(c, input(c, 3));
  } else {
    const ValueId size = plus(c, length(c, weight, 2), -1);
    const ValueId shape = concat(c, {length(c, x, 0), length(c, x, 1), size}, 0);
    before = one(c, "ConstantOfShape", {shape});
  }
  const ValueId all = concat(c, {before, x}, 2);
  std::vector<ValueId> operands{all, weight};
  if (has(c, 2)) operands.push_back(widened(c, input(c, 2)));
  ValueId y = one(c, "Conv", std::move(operands), with("group", *channels));
  if (op.activation != "none") y = one(c, "Mul", {y, one(c, "Sigmoid", {y})});
  const ValueId end = ints(c, {std::numeric_limits<int64_t>::max()});
  const ValueId present = sliced(c, all, length(c, x, 2), end, 2);
  return {cast(c, y, type), cast(c, present, type)};
}

}  // namespace
}  // namespace decomposition

void declare_linear_attention(SchemaCatalog& c) {
  c.add("LinearAttention")
      .version(27,
               "(query: T, key: T, value: T, past_state?: S, decay?: T, beta?: T) -> (output: T, "
               "present_state: S) {chunk_size: int = 64, kv_num_heads: int!, q_num_heads: int!, scale: float "
               "= 0, update_rule: string = 'gated_delta'} [T: float16 bfloat16 float; S: float16 bfloat16 "
               "float]")
      .rule<LinearAttention>()
      .decompose(decomposition::linear_attention)
      .output_type(state_type, 1)
      .tolerance({.epsilons = 64, .per_reduced = true});
  c.add("CausalConvWithState")
      .version(
          27,
          "(input: T, weight: T, bias?: T, past_state?: T) -> (output: T, present_state: T) {activation: "
          "string = 'none'} [T: float float16 bfloat16]")
      .rule<CausalConvWithState>()
      .decompose(decomposition::causal_conv)
      .tolerance({.epsilons = 8, .per_reduced = true});
}

}  // namespace lathe
