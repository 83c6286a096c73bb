// Attention of many heads, plain, with its projection, and quantized; rotary embeddings. A mask becomes
// numbers that are added to scores, because masked keys are unlikely here but impossible in the standard.
#include <algorithm>
#include <array>
#include <limits>

#include "ops/microsoft/microsoft.h"

namespace lathe::microsoft {
namespace {

/// The lengths, mask and bias that decide which keys queries see. Every length is a list of one number.
struct Sight {
  ValueId queries, total, past = no_id;  // past: absent where there is none
  Dim batch;
  ValueId mask = no_id, bias = no_id;  // as the node has them
  bool causal = false;
  bool scores_wanted = false;
};

/// Converts the mask to booleans, true for visible keys, that broadcast to [batch, heads, queries, total].
ValueId visible_keys(UpgradeContext& u, const Sight& s) {
  const auto shape = u.type(s.mask).shape;
  if (!shape) refuse(u, "a mask of known rank", "one of any rank");
  const ValueId none = u.add_constant(Tensor::scalar<int32_t>(0), "none");
  if (shape->size() == 4) {
    // A mask [batch, 1, most, most] is for all positions; those of these queries are sliced.
    const ValueId zero = ints(u, {0}), first = s.past == no_id ? zero : s.past;
    const ValueId rows = sliced(u, s.mask, first, one(u, "Add", {first, s.queries}), 2);
    return one(u, "Greater", {sliced(u, rows, zero, s.total, 3), none});
  }
  if (shape->size() == 3) return unsqueezed(u, one(u, "Greater", {s.mask, none}), {1});
  if (shape->size() == 2) return unsqueezed(u, one(u, "Greater", {s.mask, none}), {1, 2});
  if (shape->size() != 1) refuse(u, "a mask of rank 1 to 4", describe(*shape));

  // The mask has the number of keys of each sample, then maybe their first keys or numbers for packed
  // kernels. A size that only a run knows is assumed to be of the first kind: the run compares it with the
  // batch.
  const Dim n = (*shape)[0];
  const bool starts = n == s.batch * Dim(2) && !(n == s.batch), packed = n == s.batch * Dim(3) + Dim(2);
  const bool plain = !starts && !packed;
  if (plain && n.is_constant() && s.batch.is_constant() && !(n == s.batch))
    refuse(u, "a mask of " + s.batch.str() + " lengths, twice or 3 times as many and 2", n.str());
  const ValueId keys = cast(u, count_up(u, s.total), DataType::int32);
  const auto bounds = [&](int64_t part) {
    if (plain) return unsqueezed(u, s.mask, {1, 2, 3});
    const ValueId batch = s.batch.is_constant()
                              ? ints(u, {s.batch.constant()})
                              : one(u, "Div", {length(u, s.mask, 0), ints(u, {starts ? 2 : 3})});
    const ValueId from = one(u, "Mul", {batch, ints(u, {part})}), to = one(u, "Add", {from, batch});
    return unsqueezed(u, sliced(u, s.mask, from, to, 0), {1, 2, 3});
  };
  const ValueId before_end = one(u, "Less", {keys, bounds(0)});
  return starts ? one(u, "And", {before_end, one(u, "GreaterOrEqual", {keys, bounds(1)})}) : before_end;
}

/// The numbers added to scores of type `like`; no_id: none. Clears `causal` if they include the causal mask.
ValueId added_to_scores(UpgradeContext& u, Sight& s, ValueId like) {
  const DataType type = u.type(like).elem;
  const float lowest = type == DataType::float16 ? -65504.0f : std::numeric_limits<float>::lowest();
  const float filter = std::max(u.node().attributes.get("mask_filter_value", -10000.0f), lowest);
  ValueId added = no_id;
  if (s.mask != no_id)
    added = one(u, "Where", {visible_keys(u, s), number_like(u, 0, like), number_like(u, filter, like)});
  // If the filter is near the lowest number, keys that are masked are as likely as those to come.
  if (s.causal && (s.scores_wanted || (s.mask != no_id && filter < lowest / 2))) {
    ValueId place = count_up(u, s.queries);
    if (s.past != no_id) place = one(u, "Add", {place, s.past});
    const ValueId seen = one(u, "GreaterOrEqual", {unsqueezed(u, place, {1}), count_up(u, s.total)});
    added = one(u, "Where",
                {seen, added == no_id ? number_like(u, 0, like) : added, number_like(u, lowest, like)});
    s.causal = false;
  }
  if (s.bias == no_id)
    return added != no_id && size_of(u, added, 2) == Dim(1) ? for_each_query(u, added, s.queries) : added;
  return added == no_id ? s.bias : one(u, "Add", {added, s.bias});
}

/// The number of rows in a KV cache whose buffer has room for more; a list of one.
ValueId filled(UpgradeContext& u, size_t at) {
  return reshaped(u, cast(u, input(u, at), DataType::int64), {1});
}

// ── MultiHeadAttention

/// Every second or third matrix of [batch, seq, heads, count, size], as [batch, seq, heads * size].
std::vector<ValueId> unpacked_heads(UpgradeContext& u, ValueId v, int64_t heads, size_t count) {
  const auto size = known(size_of(u, v, -1));
  Attributes a = with("axis", int64_t{3});
  a.set("num_outputs", static_cast<int64_t>(count));
  std::vector<ValueId> parts = u.insert("Split", {v}, std::move(a), count);
  for (ValueId& p : parts) p = reshaped(u, p, {0, 0, size ? heads * *size : -1});
  return parts;
}

/// Adds its part of the bias to each of queries, keys and values: widths of q, q and the rest.
void add_biases(UpgradeContext& u, std::array<ValueId, 3>& qkv, ValueId bias, size_t count) {
  const ValueId width = length(u, qkv[0], 2), zero = ints(u, {0});
  const ValueId twice = one(u, "Add", {width, width});
  const std::array<ValueId, 4> bounds{zero, width, twice, ints(u, {std::numeric_limits<int64_t>::max()})};
  for (size_t i = 0; i < count; ++i)
    qkv[i] = one(u, "Add", {qkv[i], sliced(u, bias, bounds[i], bounds[i + 1], 0)});
}

void multi_head_attention(UpgradeContext& u) {
  const int64_t heads = head_count(u, "num_heads");
  if (has(u, 9)) refuse(u, "no cache_indirection", "beams that share a cache");
  const size_t rank = rank_of_input(u, 0), key_rank = has(u, 1) ? rank_of_input(u, 1) : 0;
  std::array<ValueId, 3> qkv{input(u, 0), input(u, 1), input(u, 2)};
  const bool cached = key_rank == 4;  // keys and values of another sequence, projected once
  if (rank == 5) {
    const auto parts = unpacked_heads(u, qkv[0], heads, 3);
    std::copy(parts.begin(), parts.end(), qkv.begin());
  } else if (key_rank == 5) {
    const auto parts = unpacked_heads(u, qkv[1], heads, 2);
    std::copy(parts.begin(), parts.end(), qkv.begin() + 1);
  } else if (!has(u, 1) || !has(u, 2)) {
    refuse(u, "key and value, or them packed with the query in rank 5",
           "a query of rank " + std::to_string(rank));
  }
  if (has(u, 3)) add_biases(u, qkv, input(u, 3), cached ? 1 : 3);

  const bool buffer = has(u, 8) && has(u, 6);
  ValueId past_key = input(u, 6), past_value = input(u, 7);
  Sight s{.queries = length(u, qkv[0], 1),
          .total = length(u, qkv[1], cached ? 2 : 1),
          .batch = size_of(u, qkv[0], 0),
          .mask = input(u, 4),
          .bias = input(u, 5)};
  if (past_key != no_id) {
    s.past = buffer ? filled(u, 8) : length(u, past_key, 2);
    s.total = one(u, "Add", {s.past, s.total});
    const bool rest = s.mask != no_id && u.type(s.mask).shape && u.type(s.mask).shape->size() == 2 &&
                      size_of(u, s.mask, 1) == size_of(u, qkv[1], 1) && !(size_of(u, past_key, 2) == Dim(0));
    if (rest) refuse(u, "a mask of past keys too", "one of new keys alone");
  }
  s.causal = u.node().attributes.get<int64_t>("unidirectional", 0) != 0;
  s.scores_wanted = wants(u, 3);
  const ValueId added = added_to_scores(u, s, qkv[0]);

  Attributes a = of_heads(u, heads, heads);
  a.set("is_causal", int64_t{s.causal});
  if (s.scores_wanted) a.set("qk_matmul_output_mode", int64_t{2});
  if (buffer) {
    const ValueId zero = ints(u, {0}), places = one(u, "Expand", {s.past, length(u, past_key, 0)});
    const auto part = [&](ValueId cache) { return sliced(u, cache, zero, s.past, 2); };
    for (size_t i : {1, 2}) {
      ValueId& past = i == 1 ? past_key : past_value;
      if (wants(u, i)) u.give(i, written(u, past, heads_first(u, qkv[i], heads), places));
      past = part(past);
    }
  }
  if (cached) qkv[0] = heads_first(u, qkv[0], heads);
  const Dim size = size_of(u, qkv[2], -1);
  become(u, "Attention", {qkv[0], qkv[1], qkv[2], added, past_key, past_value}, std::move(a));
  if (cached) append_heads_last(u, heads, size);
}

// ── Attention with its projection

struct Projected {
  ValueId qkv;  // [batch, seq, widths of queries, keys and values together]
  ValueId mask = no_id, past = no_id, bias = no_id;
  size_t past_length = 0;  // an input: how much of the past is there; 0: all
};

void projected_attention(UpgradeContext& u, const Projected& p) {
  const Attributes given = u.node().attributes;
  const int64_t heads = head_count(u, "num_heads");
  if (given.get<int64_t>("do_rotary", 0) != 0)
    refuse(u, "do_rotary 0", "1, with angles that the node does not say");
  const auto widths = given.get<std::vector<int64_t>>("qkv_hidden_sizes", {});
  if (!widths.empty() && widths.size() != 3)
    refuse(u, "three qkv_hidden_sizes", std::to_string(widths.size()));
  Attributes split = with("axis", int64_t{-1});
  std::vector<ValueId> whole{p.qkv};
  if (widths.empty())
    split.set("num_outputs", int64_t{3});
  else
    whole.push_back(ints(u, widths));
  const std::vector<ValueId> qkv = u.insert("Split", std::move(whole), std::move(split), 3);

  Sight s{.queries = length(u, p.qkv, 1),
          .total = length(u, p.qkv, 1),
          .batch = size_of(u, p.qkv, 0),
          .mask = p.mask,
          .bias = p.bias};
  std::array<ValueId, 2> past{no_id, no_id}, buffers{no_id, no_id};
  const bool buffer = given.get<int64_t>("past_present_share_buffer", 0) != 0 && p.past != no_id;
  if (buffer && (p.past_length == 0 || !has(u, p.past_length)))
    refuse(u, "past_sequence_length with a shared buffer", "none");
  if (p.past != no_id) {
    for (size_t i : {0, 1})
      buffers[i] = past[i] = one(u, "Gather", {p.past, int_scalar(u, static_cast<int64_t>(i))});
    s.past = buffer ? filled(u, p.past_length) : length(u, p.past, 3);
    s.total = one(u, "Add", {s.past, s.total});
    for (ValueId& v : past)
      if (buffer) v = sliced(u, v, ints(u, {0}), s.past, 2);
  }
  s.causal = given.get<int64_t>("unidirectional", 0) != 0;
  const ValueId added = added_to_scores(u, s, p.qkv);
  Attributes a = of_heads(u, heads, heads);
  a.set("is_causal", int64_t{s.causal});
  std::vector<ValueId> inputs{qkv[0], qkv[1], qkv[2], added, past[0], past[1]};
  if (!wants(u, 1)) return become(u, "Attention", std::move(inputs), std::move(a));

  while (inputs.back() == no_id) inputs.pop_back();
  std::vector<ValueId> made = u.insert("Attention", std::move(inputs), std::move(a), buffer ? 1 : 3);
  if (buffer) {
    const ValueId places = one(u, "Expand", {s.past, length(u, buffers[0], 0)});
    for (size_t i : {0, 1}) made.push_back(written(u, buffers[i], heads_first(u, qkv[1 + i], heads), places));
  }
  u.give(1, concat(u, {unsqueezed(u, made[1], {0}), unsqueezed(u, made[2], {0})}, 0));
  become(u, "Identity", {made[0]});
}

void attention(UpgradeContext& u) {
  ValueId qkv = one(u, "MatMul", {input(u, 0), input(u, 1)});
  if (has(u, 2)) qkv = one(u, "Add", {qkv, input(u, 2)});
  projected_attention(
      u, {.qkv = qkv, .mask = input(u, 3), .past = input(u, 4), .bias = input(u, 5), .past_length = 6});
}

void quantized_attention(UpgradeContext& u) {
  ValueId qkv = one(u, "MatMul", {real(u, 0, 3, 6), real(u, 1, 4, 7)});
  if (has(u, 2)) qkv = one(u, "Add", {qkv, input(u, 2)});
  projected_attention(u, {.qkv = qkv, .mask = input(u, 5), .past = input(u, 8)});
}

// ── Rotary embeddings

void rotary_embedding(UpgradeContext& u) {
  const Attributes a = u.node().attributes;
  if (a.get<int64_t>("is_packed_batching", 0) != 0) refuse(u, "is_packed_batching 0", "1");
  const size_t rank = rank_of_input(u, 0), position_rank = rank_of_input(u, 1);
  Attributes kept;
  for (const char* name : {"interleaved", "rotary_embedding_dim", "num_heads"})
    kept.set(name, a.get<int64_t>(name, 0));
  if (rank == 3 && a.get<int64_t>("num_heads", 0) == 0) {
    const SymShape x = *u.input_type(0).shape;
    const ValueType table = u.input_type(2);
    const auto width = known(x[2]), half = table.shape ? known(table.shape->back()) : std::nullopt;
    if (!width || !half || *half == 0 || *width % (2 * *half) != 0) refuse(u, "num_heads", "none");
    kept.set("num_heads", *width / (2 * *half));
  }
  ValueId positions = input(u, 1);
  if (position_rank != 2) {
    // One number: the position of the first row of every sequence.
    const ValueId batch = length(u, input(u, 0), 0), words = length(u, input(u, 0), rank == 3 ? 1 : 2);
    positions =
        one(u, "Expand", {one(u, "Add", {count_up(u, words), positions}), concat(u, {batch, words}, 0)});
  }
  become(u, "RotaryEmbedding", {input(u, 0), input(u, 2), input(u, 3), positions}, std::move(kept));
}

}  // namespace

std::span<const Declared> attention_operators() {
  // clang-format off
  static constexpr Declared list[] = {
      {"MultiHeadAttention",
       "(query: T, key?: T, value?: T, bias?: T, key_padding_mask?: M, attention_bias?: T, past_key?: T, "
       "past_value?: T, past_sequence_length?: M, cache_indirection?: M) "
       "-> (output: T, present_key?: T, present_value?: T, qk?: T) "
       "{mask_filter_value: float, num_heads: int!, scale: float, unidirectional: int = 0} "
       "[T: float float16 bfloat16; M: int32]",
       multi_head_attention},
      {"Attention",
       "(input: T, weights: T, bias?: T, mask_index?: M, past?: T, attention_bias?: T, "
       "past_sequence_length?: M) -> (output: T, present?: T) {do_rotary: int, mask_filter_value: float, "
       "num_heads: int!, past_present_share_buffer: int, qkv_hidden_sizes: ints, "
       "rotary_embedding_dim: int, scale: float, unidirectional: int = 0} "
       "[T: float float16 bfloat16; M: int32]",
       attention},
      {"QAttention",
       "(input: T1, weight: T2, bias: T3, input_scale: T3, weight_scale: T3, mask_index?: T4, "
       "input_zero_point?: T1, weight_zero_point?: T2, past?: T3) -> (output: T3, present?: T3) "
       "{do_rotary: int, mask_filter_value: float, num_heads: int!, past_present_share_buffer: int, "
       "scale: float, unidirectional: int = 0} "
       "[T1: int8 uint8; T2: int8 uint8; T3: float float16; T4: int32]",
       quantized_attention},
      {"RotaryEmbedding",
       "(input: T, position_ids: M, cos_cache: T, sin_cache: T) -> (output: T) {interleaved: int, "
       "is_packed_batching: int, num_heads: int, rotary_embedding_dim: int, scale: float} "
       "[T: float float16 bfloat16; M: int64]",
       rotary_embedding},
  };
  // clang-format on
  return list;
}

}  // namespace lathe::microsoft
