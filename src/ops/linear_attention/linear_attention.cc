#include "ops/linear_attention/linear_attention.h"

#include "schema/schema.h"

namespace lathe {
namespace {

/// Without a past the state is of the query's type.
DataType state_type(const Node& n, std::span<const ValueType> inputs) {
  const bool past = n.inputs.size() > 3 && n.inputs[3] != no_id;
  return inputs[past ? 3 : 0].elem;
}

}  // namespace

void declare_linear_attention(SchemaCatalog& c) {
  c.add("LinearAttention")
      .version(27,
               "(query: T, key: T, value: T, past_state?: S, decay?: T, beta?: T) -> (output: T, "
               "present_state: S) {chunk_size: int = 64, kv_num_heads: int!, q_num_heads: int!, scale: float "
               "= 0, update_rule: string = 'gated_delta'} [T: float16 bfloat16 float; S: float16 bfloat16 "
               "float]")
      .rule<LinearAttention>()
      .output_type(state_type, 1)
      .contract({.epsilons = 64, .per_reduced = true});
  c.add("CausalConvWithState")
      .version(
          27,
          "(input: T, weight: T, bias?: T, past_state?: T) -> (output: T, present_state: T) {activation: "
          "string = 'none'} [T: float float16 bfloat16]")
      .rule<CausalConvWithState>()
      .contract({.epsilons = 8, .per_reduced = true});
}

}  // namespace lathe
