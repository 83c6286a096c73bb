// LinearAttention: attention whose past is one matrix [d_k, d_v] for each head (Katharopoulos et al. 2020;
// gated as in Yang et al. 2024, with the delta rule of Schlag et al. 2021). CausalConvWithState: the short
// convolution in front of it.
#pragma once

#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// query [B, T, Hq·d_k], key [B, T, Hkv·d_k], value [B, T, Hkv·d_v], past_state? [B, Hkv, d_k, d_v],
/// decay? [B, T, Hkv or Hkv·d_k], beta? [B, T, Hkv or 1] → output [B, T, Hq·d_v], present_state [B, Hkv, d_k,
/// d_v].
struct LinearAttention {
  int64_t chunk_size = 64;  // changes no result
  int64_t kv_num_heads = 0, q_num_heads = 0;
  float scale = 0;  // 0: 1 / sqrt(d_k)
  std::string update_rule = "gated_delta";
  void fields(auto&& f) {
    f("chunk_size", chunk_size);
    f("kv_num_heads", kv_num_heads);
    f("q_num_heads", q_num_heads);
    f("scale", scale);
    f("update_rule", update_rule);
  }
  bool gated() const { return update_rule == "gated" || update_rule == "gated_delta"; }
  bool corrected() const { return update_rule == "delta" || update_rule == "gated_delta"; }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (!gated() && !corrected() && update_rule != "linear")
      c.fail(Code::node_bad_attribute, "update_rule linear, gated, delta or gated_delta", update_rule, {});
    if (kv_num_heads < 1 || q_num_heads < 1 || q_num_heads % kv_num_heads != 0)
      c.fail(Code::node_bad_attribute, "q_num_heads that are a multiple of kv_num_heads",
             std::to_string(q_num_heads) + " and " + std::to_string(kv_num_heads), {});
    c.require(c.has(4) == gated(),
              gated() ? "a decay, for update_rule " + update_rule : "no decay without gates",
              c.has(4) ? "one" : "none");
    c.require(c.has(5) == corrected(),
              corrected() ? "beta, for update_rule " + update_rule : "no beta without a delta rule",
              c.has(5) ? "one" : "none");
    for (size_t i : {0, 1, 2, 4, 5})
      if (c.has(i)) c.require(c.rank(i) == 3, "[batch, length, heads and sizes]", c.text(c.shape(i)));
    const auto heads = [&](const D& width, int64_t n) {
      const auto k = known(width);
      c.require(!k || *k % n == 0, "a width that " + std::to_string(n) + " heads share", to_text(width));
      return floor_div(width, D(n));
    };
    const auto &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
    D batch = c.same(q[0], c.same(k[0], v[0], "batches of key and value"), "batches of query and key");
    const D length = c.same(q[1], c.same(k[1], v[1], "lengths of key and value"), "lengths of query and key");
    const D d_k =
        c.same(heads(q[2], q_num_heads), heads(k[2], kv_num_heads), "sizes of the heads of query and key");
    const D d_v = heads(v[2], kv_num_heads);
    for (size_t i : {4, 5}) {
      if (!c.has(i)) continue;
      batch = c.same(batch, c.shape(i)[0], "batches");
      c.same(length, c.shape(i)[1], "lengths");
      const auto width = known(c.shape(i)[2]),
                 other = i == 4 ? known(D(kv_num_heads) * d_k) : std::optional<int64_t>(1);
      c.require(
          !width || !other || *width == kv_num_heads || *width == *other,
          i == 4 ? "a decay for each head, or for each row of its state" : "a beta for each head, or one",
          c.text(c.shape(i)));
    }
    std::vector<D> state{batch, D(kv_num_heads), d_k, d_v};
    if (c.has(3)) {
      c.require(c.rank(3) == 4, "a state of rank 4", c.text(c.shape(3)));
      for (size_t a = 0; a < 4; ++a) state[a] = c.same(state[a], c.shape(3)[a], "sizes of the state");
    }
    c.output(0, {batch, length, D(q_num_heads) * d_v});
    c.output(1, std::move(state));
  }
};

/// input [B, C, T], weight [C, 1, k], bias? [C], past_state? [B, C, k - 1] → output [B, C, T], present_state
/// [B, C, k - 1].
struct CausalConvWithState {
  std::string activation = "none";
  void fields(auto&& f) { f("activation", activation); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (activation != "none" && activation != "silu" && activation != "swish")
      c.fail(Code::node_bad_attribute, "activation none, silu or swish", activation, {});
    c.require(c.rank(0) == 3 && c.rank(1) == 3, "input [batch, channels, length] and weight [channels, 1, k]",
              c.text(c.shape(0)) + " and " + c.text(c.shape(1)));
    const auto &x = c.shape(0), &w = c.shape(1);
    c.same(x[1], w[0], "channels of input and weight");
    c.same(w[1], D(1), "the channels of a filter and 1");
    const auto k = known(w[2]);
    c.require(!k || *k >= 1, "filters from 1", c.text(w));
    if (c.has(2)) {
      c.require(c.rank(2) == 1, "a bias of rank 1", c.text(c.shape(2)));
      c.same(c.shape(2)[0], x[1], "the biases and the channels");
    }
    std::vector<D> state{x[0], x[1], w[2] - D(1)};
    if (c.has(3)) {
      c.require(c.rank(3) == 3, "a state of rank 3", c.text(c.shape(3)));
      for (size_t a = 0; a < 3; ++a) state[a] = c.same(state[a], c.shape(3)[a], "sizes of the state");
    }
    c.output(0, x);
    c.output(1, std::move(state));
  }
};

}  // namespace lathe
