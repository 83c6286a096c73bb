// Attention whose query heads share key heads, with KV caches whose samples have lengths of their own.
#include <limits>

#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

/// The node's numbers of heads and the values that its parts share.
struct GroupQuery {
  int64_t heads, kv_heads;
  ValueId q, k, v;  // [batch, seq, heads * size]
  ValueId steps;    // 0, 1, … for each new row
  ValueId batch;    // list of one
  bool with_past;
  ValueId first;  // boolean: whether the KV cache is empty; only with a KV cache
  ValueId start;  // [batch]: rows of the cache that are there; with a past only
  ValueId total;  // the longest sample, a list of one
};

void refuse_other_caches(UpgradeContext& u, const Attributes& a) {
  if (a.get<int64_t>("sliding_window_cache", 0) != 0)
    refuse(u, "sliding_window_cache 0", "a cache that forgets");
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (const auto kind = a.get<std::string>(name, "NONE"); kind != "NONE" && !kind.empty())
      refuse(u, std::string(name) + " NONE", kind);
  for (size_t i : {3, 4})
    if (has(u, i) && u.input_type(i).elem != u.input_type(0).elem)
      refuse(u, "a cache of the query's type", u.input_type(i).str());
  if (a.get<int64_t>("qk_output", 0) == 1 && wants(u, 3))
    refuse(u, "qk_output 0 or 2", "1, scores before softmax");
}

/// Finds queries, keys and values, which may be side by side in the first input.
void take_heads(UpgradeContext& u, GroupQuery& g) {
  g.q = input(u, 0), g.k = input(u, 1), g.v = input(u, 2);
  if (g.k != no_id && g.v != no_id) return;
  const auto width = known(size_of(u, g.q, -1));
  const int64_t all = g.heads + 2 * g.kv_heads;
  if (!width || *width % all != 0)
    refuse(u, "a packed query whose width is a multiple of " + std::to_string(all) + " heads",
           u.type(g.q).str());
  const int64_t size = *width / all;
  const auto parts = u.insert("Split", {g.q, ints(u, {g.heads * size, g.kv_heads * size, g.kv_heads * size})},
                              with("axis", int64_t{2}), 3);
  g.q = parts[0], g.k = parts[1], g.v = parts[2];
}

/// Divides each head by its root mean square.
ValueId normed(UpgradeContext& u, ValueId v, int64_t heads, size_t weight, float epsilon) {
  if (!has(u, weight)) return v;
  const auto width = known(size_of(u, v, -1));
  Attributes a = with("axis", int64_t{-1});
  a.set("epsilon", epsilon);
  const ValueId each = reshaped(u, v, {0, 0, heads, width ? *width / heads : -1});
  const ValueId norm = one(u, "RMSNormalization", {each, input(u, weight)}, std::move(a));
  return reshaped(u, norm, {0, 0, width ? *width : -1});
}

/// The positions of the new rows in their samples: [batch, seq]. A first prompt reads one number of
/// position_ids.
ValueId positions(UpgradeContext& u, const GroupQuery& g) {
  const auto for_all = [&](ValueId v) {
    return one(u, "Expand", {v, concat(u, {g.batch, length(u, g.q, 1)}, 0)});
  };
  if (!has(u, 9))
    return g.with_past ? one(u, "Add", {unsqueezed(u, g.start, {1}), g.steps}) : for_all(g.steps);
  const ValueId corner = one(u, "Slice", {input(u, 9), ints(u, {0, 0}), ints(u, {1, 1})});
  const ValueId from_first = one(u, "Add", {corner, g.steps});
  return g.with_past ? one(u, "Where", {g.first, from_first, input(u, 9)}) : for_all(from_first);
}

void rotate(UpgradeContext& u, GroupQuery& g, bool interleaved) {
  if (!has(u, 7) || !has(u, 8)) refuse(u, "cos_cache and sin_cache with do_rotary", "none");
  const ValueId at = positions(u, g);
  const auto half = known(size_of(u, input(u, 7), -1));
  for (const bool query : {true, false}) {
    const int64_t heads = query ? g.heads : g.kv_heads;
    ValueId& v = query ? g.q : g.k;
    Attributes a = with("num_heads", heads);
    a.set("interleaved", int64_t{interleaved});
    if (const auto width = known(size_of(u, v, -1)); width && half && *half * 2 * heads < *width)
      a.set("rotary_embedding_dim", *half * 2);
    v = one(u, "RotaryEmbedding", {v, input(u, 7), input(u, 8), at}, std::move(a));
  }
}

/// The KV cache with the new rows appended, and with room for the longest sample.
ValueId present(UpgradeContext& u, const GroupQuery& g, ValueId past, ValueId rows) {
  const ValueId more = one(u, "Max", {one(u, "Sub", {g.total, length(u, past, 2)}), ints(u, {0})});
  const ValueId pads = concat(u, {ints(u, {0, 0, 0, 0, 0, 0}), more, ints(u, {0})}, 0);
  return written(u, one(u, "Pad", {past, pads}), rows, g.start);
}

/// Booleans [batch or 1, 1, seq, total]: true for keys that a query may see.
ValueId visible(UpgradeContext& u, const GroupQuery& g, bool causal, int64_t window) {
  const ValueId keys = count_up(u, g.total);
  if (!causal) {
    const ValueId last = reshaped(u, cast(u, input(u, 5), DataType::int64), {-1});
    const ValueId seen = one(u, "LessOrEqual", {keys, unsqueezed(u, last, {1, 2, 3})});
    return for_each_query(u, seen, length(u, g.q, 1));
  }
  const ValueId at = g.with_past
                         ? unsqueezed(u, one(u, "Add", {unsqueezed(u, g.start, {1}), g.steps}), {1, 3})
                         : unsqueezed(u, g.steps, {0, 1, 3});
  const ValueId seen = one(u, "LessOrEqual", {keys, at});
  if (window <= 0) return seen;
  return one(u, "And", {seen, one(u, "Greater", {keys, one(u, "Sub", {at, int_scalar(u, window)})})});
}

/// Inserts a key of zeros before all others, whose score is its entry in the mask: it takes its share of
/// every softmax and adds nothing to the output.
void add_sink(UpgradeContext& u, const GroupQuery& g, ValueId score, ValueId& keys, ValueId& values,
              ValueId& mask) {
  const ValueId zero = number_like(u, 0, g.q), row = ints(u, {1});
  for (ValueId* v : {&keys, &values}) {
    const ValueId shape = concat(u, {g.batch, length(u, *v, 1), row, length(u, *v, 3)}, 0);
    *v = concat(u, {one(u, "Expand", {zero, shape}), *v}, 2);
  }
  const ValueId heads = ints(u, {g.heads}), queries = length(u, g.q, 1);
  const auto broadcast = [&](ValueId v, ValueId last) {
    return one(u, "Expand", {v, concat(u, {g.batch, heads, queries, last}, 0)});
  };
  mask = concat(u, {broadcast(score, row), broadcast(mask, g.total)}, 3);
}

void group_query_attention(UpgradeContext& u) {
  const Attributes given = u.node().attributes;
  GroupQuery g{};
  g.heads = head_count(u, "num_heads"), g.kv_heads = head_count(u, "kv_num_heads");
  g.with_past = has(u, 3);
  if (g.with_past != has(u, 4)) refuse(u, "past_key and past_value together", "only one of them");
  refuse_other_caches(u, given);
  take_heads(u, g);
  g.batch = length(u, g.q, 0);
  const ValueId queries = length(u, g.q, 1);
  g.steps = count_up(u, queries);
  g.total = queries;
  if (g.with_past) {
    g.total = reshaped(u, cast(u, input(u, 6), DataType::int64), {1});
    const ValueId last = reshaped(u, cast(u, input(u, 5), DataType::int64), {-1});
    g.first = one(u, "Equal", {g.total, queries});
    g.start = one(u, "Where",
                  {g.first, ints(u, {0}), one(u, "Sub", {one(u, "Add", {last, ints(u, {1})}), queries})});
  }
  const float epsilon = given.get("qk_norm_epsilon", 1e-6f);
  g.q = normed(u, g.q, g.heads, 14, epsilon);
  g.k = normed(u, g.k, g.kv_heads, 15, epsilon);
  if (given.get<int64_t>("do_rotary", 0) != 0) rotate(u, g, given.get<int64_t>("rotary_interleaved", 0) != 0);

  const bool causal = given.get<int64_t>("causal", 1) != 0;
  const int64_t window = given.get<int64_t>("local_window_size", -1);
  const bool sink = has(u, 11) || given.get<int64_t>("smooth_softmax", -1) > 0;
  if (sink && wants(u, 3)) refuse(u, "no output_qk with a smooth softmax", "one that is wanted");
  Attributes a = of_heads(u, g.heads, g.kv_heads);
  a.set("softcap", given.get("softcap", 0.0f));
  if (wants(u, 3)) a.set("qk_matmul_output_mode", int64_t{3});
  if (!g.with_past && !sink && causal) {
    a.set("is_causal", int64_t{1});
    if (window > 0) a.set("left_window_size", window - 1);
    return become(u, "Attention", {g.q, g.k, g.v, input(u, 10)}, std::move(a));
  }

  ValueId keys = heads_first(u, g.k, g.kv_heads), values = heads_first(u, g.v, g.kv_heads);
  if (g.with_past) {
    keys = present(u, g, input(u, 3), keys);
    values = present(u, g, input(u, 4), values);
  }
  if (wants(u, 1)) u.give(1, keys);
  if (wants(u, 2)) u.give(2, values);
  ValueId mask = visible(u, g, causal, window);
  if (has(u, 10) || sink) {
    const ValueId seen = has(u, 10) ? input(u, 10) : number_like(u, 0, g.q);
    mask = one(u, "Where", {mask, seen, number_like(u, -std::numeric_limits<float>::infinity(), g.q)});
  }
  if (sink)
    add_sink(u, g, has(u, 11) ? reshaped(u, input(u, 11), {1, g.heads, 1, 1}) : number_like(u, 0, g.q), keys,
             values, mask);
  const Dim size = size_of(u, values, -1);
  become(u, "Attention", {heads_first(u, g.q, g.heads), keys, values, mask}, std::move(a));
  append_heads_last(u, g.heads, size);
  if (wants(u, 3)) u.append(3, "Slice", {ints(u, {0}), g.total, ints(u, {3})}, {});
}

}  // namespace

std::span<const Declared> group_query_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"GroupQueryAttention",
       "(query: T, key?: T, value?: T, past_key?: C, past_value?: C, seqlens_k: M, "
       "total_sequence_length: M, cos_cache?: T, sin_cache?: T, position_ids?: int64, attention_bias?: T, "
       "head_sink?: T, k_scale?: float, v_scale?: float, q_norm_weight?: T, k_norm_weight?: T) "
       "-> (output: T, present_key?: C, present_value?: C, output_qk?: T) {causal: int = 1, "
       "do_rotary: int = 0, k_quant_type: string = 'NONE', kv_cache_bit_width: int, kv_num_heads: int!, "
       "local_window_size: int = -1, num_heads: int!, qk_norm_epsilon: float = 9.999999974752427e-07, "
       "qk_output: int = 0, rotary_interleaved: int = 0, scale: float, sliding_window_cache: int = 0, "
       "smooth_softmax: int = -1, softcap: float = 0, v_quant_type: string = 'NONE'} "
       "[T: float16 bfloat16 float; C: float float16 bfloat16 uint8 int8 float8e4m3fn; M: int32]",
       group_query_attention},
  };
  // clang-format on
  return list;
}

}  // namespace lathe::microsoft
