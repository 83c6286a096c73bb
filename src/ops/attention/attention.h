// Attention (scaled dot products, grouped heads, caches, masks) and RotaryEmbedding.
#pragma once

#include <optional>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Inputs: Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?. Of rank 4 [batch, heads, length,
/// size] or of rank 3 [batch, length, heads * size] with the numbers of heads given.
struct Attention {
  bool is_causal = false;
  std::optional<int64_t> q_num_heads, kv_num_heads, softmax_precision;
  std::optional<float> scale;
  float softcap = 0;
  int64_t qk_matmul_output_mode = 0;  // 0 products, 1 after softcap, 2 after the masks, 3 after softmax
  int64_t left_window_size = -1, right_window_size = -1;
  void fields(auto&& f) {
    f("is_causal", is_causal);
    f("q_num_heads", q_num_heads);
    f("kv_num_heads", kv_num_heads);
    f("softmax_precision", softmax_precision);
    f("scale", scale);
    f("softcap", softcap);
    f("qk_matmul_output_mode", qk_matmul_output_mode);
    f("left_window_size", left_window_size);
    f("right_window_size", right_window_size);
  }

  /// Sizes of one input, whatever its rank.
  template <class D>
  struct Heads {
    D batch, heads, length, size;
  };
  template <class D>
  Heads<D> split(const ShapeContext<D>& c, size_t input, const std::optional<int64_t>& heads) const {
    const auto& s = c.shape(input);
    if (s.size() == 4) return {s[0], s[1], s[2], s[3]};
    c.require(s.size() == 3, "Q, K and V of rank 3 or 4", c.text(s));
    if (!heads || *heads <= 0)
      c.fail(Code::node_bad_attribute, "q_num_heads and kv_num_heads for inputs of rank 3",
             heads ? std::to_string(*heads) : "none", "give the number of heads");
    const auto hidden = known(s[2]);
    c.require(!hidden || *hidden % *heads == 0, "a size that " + std::to_string(*heads) + " heads divide",
              c.text(s));
    return {s[0], D(*heads), s[1], floor_div(s[2], D(*heads))};
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto q = split(c, 0, q_num_heads), k = split(c, 1, kv_num_heads), v = split(c, 2, kv_num_heads);
    c.same(q.batch, k.batch, "batch sizes of Q and K");
    c.same(k.batch, v.batch, "batch sizes of K and V");
    c.same(q.size, k.size, "head sizes of Q and K");
    c.same(k.length, v.length, "lengths of K and V");
    c.same(k.heads, v.heads, "heads of K and V");
    const auto many = known(q.heads), few = known(k.heads);
    c.require(!many || !few || (*few > 0 && *many % *few == 0), "q heads that are a multiple of kv heads",
              to_text(q.heads) + " and " + to_text(k.heads));
    c.require(c.has(4) == c.has(5), "past_key and past_value together", "one of them");
    c.require(left_window_size >= -1 && right_window_size >= -1, "window sizes of at least -1",
              std::to_string(left_window_size) + ", " + std::to_string(right_window_size));
    D total = k.length;
    if (c.has(4)) {
      c.require(c.rank(4) == 4 && c.rank(5) == 4, "past_key and past_value of rank 4", c.text(c.shape(4)));
      total = c.shape(4)[2] + k.length;
    }
    if (c.rank(0) == 3)
      c.output(0, {q.batch, q.length, q.heads * v.size});
    else
      c.output(0, {q.batch, q.heads, q.length, v.size});
    c.output(1, {k.batch, k.heads, total, k.size});
    c.output(2, {v.batch, v.heads, total, v.size});
    c.output(3, {q.batch, q.heads, q.length, total});
  }
};

/// Inputs: X [batch, heads, length, size] or [batch, length, heads * size], cos_cache, sin_cache,
/// position_ids?.
struct RotaryEmbedding {
  bool interleaved = false;
  int64_t num_heads = 0, rotary_embedding_dim = 0;
  void fields(auto&& f) {
    f("interleaved", interleaved);
    f("num_heads", num_heads);
    f("rotary_embedding_dim", rotary_embedding_dim);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto rank = c.rank(0);
    c.require(rank == 3 || rank == 4, "X of rank 3 or 4", c.text(c.shape(0)));
    if (rank == 3 && num_heads <= 0)
      c.fail(Code::node_bad_attribute, "num_heads for X of rank 3", std::to_string(num_heads),
             "give the number of heads");
    c.require(c.rank(1) == (c.has(3) ? 2 : 3),
              c.has(3) ? "caches of rank 2 with position_ids" : "caches of rank 3 without position_ids",
              c.text(c.shape(1)));
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
