// Attention and RotaryEmbedding.
#pragma once

#include <optional>

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Y = softmax(softcap(scale * Q K') + bias) V for every head; query heads share key heads in groups.
///   Q [batch, q_heads, q_seq, head], K [batch, kv_heads, kv_seq, head], V [batch, kv_heads, kv_seq, v_head],
///   or all three [batch, seq, heads * head]; attn_mask broadcasts to [batch, q_heads, q_seq, total];
///   past_key, past_value [batch, kv_heads, past, head]; nonpad_kv_seqlen [batch]
///   → Y like Q with V's head size, present_key and present_value [batch, kv_heads, total, head],
///   qk_matmul_output [batch, q_heads, q_seq, total], where total = past + kv_seq.
struct Attention {
  bool is_causal = false;
  int64_t left_window = -1, right_window = -1;  // -1: no bound
  std::optional<int64_t> q_num_heads, kv_num_heads;
  int64_t qk_matmul_output_mode = 0;  // 0: scaled products; 1: after softcap; 2: with bias; 3: probabilities
  std::optional<float> scale;         // 1 / sqrt(head)
  float softcap = 0;                  // 0: none
  std::optional<int64_t> softmax_precision;
  /// Past and present keys and values are int8, with four bytes more in each row: a float32 scale. The
  /// builder makes such nodes; files have none.
  bool scaled_cache = false;
  void fields(auto&& f) {
    f("is_causal", is_causal);
    f("left_window_size", left_window);
    f("right_window_size", right_window);
    f("q_num_heads", q_num_heads);
    f("kv_num_heads", kv_num_heads);
    f("qk_matmul_output_mode", qk_matmul_output_mode);
    f("scale", scale);
    f("softcap", softcap);
    f("softmax_precision", softmax_precision);
    f("scaled_cache", scaled_cache);
  }

  template <class D>
  struct Sizes {
    D batch, q_heads, kv_heads, q_seq, kv_seq, past, total, head, v_head;
    bool heads_last;  // inputs of rank 3
  };

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_attributes(c);
    const Sizes<D> s = sizes(c);
    if (c.has(3)) check_mask(c, s);
    if (c.has(6)) {
      c.require(c.rank(6) == 1, "nonpad_kv_seqlen of rank 1", c.text(c.shape(6)));
      c.same(c.shape(6)[0], s.batch, "the size of nonpad_kv_seqlen and the batch");
    }
    if (s.heads_last)
      c.output(0, {s.batch, s.q_seq, times(s.q_heads, s.v_head)});
    else
      c.output(0, {s.batch, s.q_heads, s.q_seq, s.v_head});
    c.output(1, {s.batch, s.kv_heads, s.total, cached_row(s.head)});
    c.output(2, {s.batch, s.kv_heads, s.total, cached_row(s.v_head)});
    c.output(3, {s.batch, s.q_heads, s.q_seq, s.total});
  }

  /// Scores and their sums of V, for every pair of a query and a key: masks and causality save nothing here.
  /// Y is like Q with V's head size; keys are those of the past and K's own.
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    using counting::at, counting::product;
    const auto &q = at(s.inputs, 0), &k = at(s.inputs, 1), &y = at(s.outputs, 0);
    if (q.size() < 3 || q.size() > 4 || k.size() != q.size()) throw counting::Unknown{};
    D keys = k[k.size() - 2];
    if (s.inputs.size() > 4 && s.inputs[4]) keys = keys + at(s.inputs, 4).at(2);
    return D(2) * keys * (product(q) + product(y));
  }

  template <class D>
  Sizes<D> sizes(const ShapeContext<D>& c) const {
    const auto &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
    c.require((q.size() == 3 || q.size() == 4) && k.size() == q.size() && v.size() == q.size(),
              "Q, K and V all of rank 3 or all of rank 4", c.text(q) + ", " + c.text(k) + ", " + c.text(v));
    Sizes<D> s;
    s.heads_last = q.size() == 3;
    s.batch = c.same(c.same(q[0], k[0], "the batches of Q and K"), v[0], "the batches of K and V");
    if (s.heads_last) {
      if (!q_num_heads || !kv_num_heads)
        c.fail(Code::node_bad_attribute, "q_num_heads and kv_num_heads with inputs of rank 3", "none", {});
      s.q_heads = D(*q_num_heads);
      s.kv_heads = D(*kv_num_heads);
      s.q_seq = q[1];
      s.kv_seq = c.same(k[1], v[1], "the sequence lengths of K and V");
      s.head = c.same(part(c, q[2], *q_num_heads), part(c, k[2], *kv_num_heads), "the head sizes of Q and K");
      s.v_head = part(c, v[2], *kv_num_heads);
    } else {
      s.q_heads = q[1];
      s.kv_heads = c.same(k[1], v[1], "the heads of K and V");
      s.q_seq = q[2];
      s.kv_seq = c.same(k[2], v[2], "the sequence lengths of K and V");
      s.head = c.same(q[3], k[3], "the head sizes of Q and K");
      s.v_head = v[3];
    }
    const auto groups = known(s.q_heads), shared = known(s.kv_heads);
    c.require(!groups || !shared || (*shared > 0 && *groups % *shared == 0),
              "query heads that are a multiple of the key heads",
              to_text(s.q_heads) + " and " + to_text(s.kv_heads));
    s.past = D(0);
    c.require(c.has(4) == c.has(5), "past_key and past_value together", "only one of them");
    if (c.has(4)) {
      c.require(!c.has(6), "nonpad_kv_seqlen or past_key, not both", "both");
      s.past = c.shape(4).size() == 4 ? c.shape(4)[2] : D(0);
      check_past(c, 4, {s.batch, s.kv_heads, s.past, cached_row(s.head)}, "past_key");
      check_past(c, 5, {s.batch, s.kv_heads, s.past, cached_row(s.v_head)}, "past_value");
    }
    s.total = plus(s.past, s.kv_seq);
    return s;
  }

 private:
  /// Returns the elements of a row of the cache.
  template <class D>
  D cached_row(const D& size) const {
    return scaled_cache ? plus(size, D(4)) : size;
  }
  template <class D>
  void check_attributes(const ShapeContext<D>& c) const {
    const auto refuse = [&](const char* expected, const std::string& got) {
      c.fail(Code::node_bad_attribute, expected, got, {});
    };
    for (const auto& heads : {q_num_heads, kv_num_heads})
      if (heads && (*heads < 1 || *heads > INT32_MAX)) refuse("at least one head", std::to_string(*heads));
    for (int64_t bound : {left_window, right_window})
      if (bound < -1) refuse("a window size of -1 or more", std::to_string(bound));
    if (qk_matmul_output_mode < 0 || qk_matmul_output_mode > 3)
      refuse("qk_matmul_output_mode in [0, 3]", std::to_string(qk_matmul_output_mode));
    if (softmax_precision && *softmax_precision != 1 && *softmax_precision != 10 &&
        *softmax_precision != 11 && *softmax_precision != 16)
      refuse("softmax_precision 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)",
             std::to_string(*softmax_precision));
  }
  template <class D>
  static D part(const ShapeContext<D>& c, const D& hidden, int64_t heads) {
    const auto n = known(hidden);
    c.require(!n || *n % heads == 0, "a hidden size divisible by " + std::to_string(heads) + " heads",
              to_text(hidden));
    return floor_div(hidden, D(heads));
  }
  template <class D>
  static void check_past(const ShapeContext<D>& c, size_t input, const std::vector<D>& want,
                         const std::string& what) {
    const auto& have = c.shape(input);
    c.require(have.size() == 4, what + " of shape " + c.text(want), c.text(have));
    for (size_t i = 0; i < 4; ++i) c.same(have[i], want[i], "the sizes of " + what);
  }
  /// The last axis may be shorter than `total`: what is missing is masked.
  template <class D>
  static void check_mask(const ShapeContext<D>& c, const Sizes<D>& s) {
    const auto& mask = c.shape(3);
    const std::vector<D> want{s.batch, s.q_heads, s.q_seq, s.total};
    bool fits = !mask.empty() && mask.size() <= 4;
    for (size_t i = 0; fits && i < mask.size(); ++i) {
      const auto have = known(mask[mask.size() - 1 - i]), allowed = known(want[3 - i]);
      if (have && allowed) fits = i == 0 ? *have <= *allowed : *have == 1 || *have == *allowed;
    }
    c.require(fits, "attn_mask that broadcasts to " + c.text(want), c.text(mask));
  }
};

/// Rotates pairs of elements of each head by angles whose cosines and sines are given.
///   X [batch, heads, seq, head] or [batch, seq, heads * head]; caches [positions, rotated / 2] with
///   position_ids [batch, seq], or [batch, seq, rotated / 2] without.
struct RotaryEmbedding {
  bool interleaved =
      false;  // pairs are neighbors; else an element and the one half of the rotated part further
  int64_t num_heads = 0, rotary_embedding_dim = 0;  // 0: the whole head
  void fields(auto&& f) {
    f("interleaved", interleaved);
    f("num_heads", num_heads);
    f("rotary_embedding_dim", rotary_embedding_dim);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() == 3 || x.size() == 4, "X of rank 3 or 4", c.text(x));
    D head = x.back();
    if (x.size() == 3) {
      if (num_heads < 1 || num_heads > INT32_MAX)
        c.fail(Code::node_bad_attribute, "num_heads of at least 1 with X of rank 3",
               std::to_string(num_heads), {});
      const auto hidden = known(x[2]);
      c.require(!hidden || *hidden % num_heads == 0,
                "a hidden size divisible by num_heads " + std::to_string(num_heads), to_text(x[2]));
      head = floor_div(x[2], D(num_heads));
    }
    const auto size = known(head);
    if (rotary_embedding_dim < 0 || rotary_embedding_dim % 2 != 0 || (size && rotary_embedding_dim > *size))
      c.fail(Code::node_bad_attribute, "an even rotary_embedding_dim within the head size " + to_text(head),
             std::to_string(rotary_embedding_dim), {});
    c.require(rotary_embedding_dim > 0 || !size || *size % 2 == 0, "an even head size", to_text(head));
    const D half = rotary_embedding_dim > 0 ? D(rotary_embedding_dim / 2) : floor_div(head, D(2));
    const D batch = x[0], positions = x[x.size() - 2];
    for (size_t i : {1, 2}) {
      const auto& cache = c.shape(i);
      c.require(cache.size() == (c.has(3) ? 2u : 3u),
                c.has(3) ? "caches of rank 2 with position_ids" : "caches of rank 3 without position_ids",
                c.text(cache));
      c.same(cache.back(), half, "the last axis of a cache and half of what is rotated");
      if (c.has(3)) continue;
      c.same(cache[0], batch, "the batches of X and of a cache");
      c.same(cache[1], positions, "the sequence lengths of X and of a cache");
    }
    c.same(c.shape(1)[0], c.shape(2)[0], "the sizes of the caches");
    if (c.has(3)) {
      c.require(c.rank(3) == 2, "position_ids of rank 2", c.text(c.shape(3)));
      c.same(c.shape(3)[0], batch, "the batches of X and position_ids");
      c.same(c.shape(3)[1], positions, "the sequence lengths of X and position_ids");
    }
    c.output(0, x);
  }
};

}  // namespace lathe
