#include "ops/attention/attention.h"

#include "ops/attention/decomposition.h"
#include "schema/downgrade.h"

namespace lathe {
namespace {

/// The mask had to cover all keys.
bool attention_23_from_24(RewriteContext& c) {
  const auto& inputs = c.node().inputs;
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i] != no_id; };
  if (!given(3)) return true;
  const auto length = [&](size_t i, size_t axis_from_end) -> std::optional<Dim> {
    const auto& shape = c.input_type(i).shape;
    if (!shape || shape->size() < axis_from_end) return std::nullopt;
    return (*shape)[shape->size() - axis_from_end];
  };
  const auto keys = length(1, 2), past = given(4) ? length(4, 2) : Dim(0), covered = length(3, 1);
  return (keys && past && covered && *covered == *keys + *past) ||
         c.cannot("in older ones the mask covers all keys, and this one need not");
}

}  // namespace

void declare_attention(SchemaCatalog& c) {
  c.add("Attention")
      .version(23,
               "(Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2) -> (Y: T1, "
               "present_key?: T1, present_value?: T2, qk_matmul_output?: T1) {qk_matmul_output_mode: int = "
               "0, softcap: float = 0, softmax_precision: int, kv_num_heads: int, q_num_heads: int, scale: "
               "float, is_causal: int = 0} [T1: @float_13; T2: @float_13; U: @plain_13]")
      .version(
          24,
          "(Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2, nonpad_kv_seqlen?: int64) -> "
          "(Y: T1, present_key?: T1, present_value?: T2, qk_matmul_output?: T1) {qk_matmul_output_mode: int "
          "= 0, softcap: float = 0, softmax_precision: int, kv_num_heads: int, q_num_heads: int, scale: "
          "float, is_causal: int = 0} [T1: @float_13; T2: @float_13; U: @plain_13]",
          nullptr, attention_23_from_24)
      .version(25,
               "(Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2, nonpad_kv_seqlen?: "
               "int64) -> (Y: T1, present_key?: T1, present_value?: T2, qk_matmul_output?: T1) "
               "{right_window_size: int = -1, left_window_size: int = -1, qk_matmul_output_mode: int = 0, "
               "softcap: float = 0, softmax_precision: int, kv_num_heads: int, q_num_heads: int, scale: "
               "float, is_causal: int = 0} [T1: @float_13; T2: @float_13; U: @plain_13]")
      .rule<Attention>()
      .decompose(decomposition::attention)
      .tolerance({.epsilons = 16, .per_reduced = true});
  c.add("RotaryEmbedding")
      .version(23,
               "(X: T, cos_cache: T, sin_cache: T, position_ids?: M) -> (Y: T) {num_heads: int, "
               "rotary_embedding_dim: int = 0, interleaved: int = 0} [T: float float16 bfloat16; M: int64]")
      .rule<RotaryEmbedding>()
      .decompose(decomposition::rotary_embedding)
      .tolerance({.epsilons = 4});
}

}  // namespace lathe
