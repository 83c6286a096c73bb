// FlexAttention: attention whose scores and probabilities bodies may change.
#pragma once

#include <optional>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Q [B, Hq, L, E], K [B, Hkv, S, E], V [B, Hkv, S, Ev] → Y [B, Hq, L, Ev]. Bodies prob_mod and score_mod,
/// either or none: one tensor [B, Hq, L, S] of type softmax_precision → another.
struct FlexAttention {
  std::optional<float> scale;  // none: 1 / sqrt(E)
  std::optional<int64_t> softmax_precision;
  bool has_prob_mod = false,
       has_score_mod = false;  // bodies are known by number, in the order of their names
  void fields(auto&& f) {
    f("has_prob_mod", has_prob_mod);
    f("has_score_mod", has_score_mod);
    f("scale", scale);
    f("softmax_precision", softmax_precision);
  }
  /// The type that bodies compute with.
  DataType precision(DataType of_inputs) const {
    if (softmax_precision) return static_cast<DataType>(*softmax_precision);
    return of_inputs == DataType::float64 ? DataType::float64 : DataType::float32;
  }

  /// Scores, and what comes of them.
  template <class D>
  struct Shapes {
    std::vector<D> scores, output;
  };
  template <class D>
  Shapes<D> shapes(const ShapeContext<D>& c) const {
    const auto &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
    c.require(q.size() == 4 && k.size() == 4 && v.size() == 4, "[batch, heads, length, size]",
              c.text(q) + ", " + c.text(k) + " and " + c.text(v));
    const D batch = c.same(q[0], c.same(k[0], v[0], "batches of K and V"), "batches of Q and K");
    const D heads = c.same(k[1], v[1], "heads of K and V"), length = c.same(k[2], v[2], "lengths of K and V");
    c.same(q[3], k[3], "sizes of the heads of Q and K");
    const auto queries = known(q[1]), keys = known(heads);
    c.require(!queries || !keys || (*keys > 0 && *queries % *keys == 0),
              "heads of Q that are a multiple of those of K", to_text(q[1]) + " and " + to_text(heads));
    return {{batch, q[1], q[2], length}, {batch, q[1], q[2], v[3]}};
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, shapes(c).output);
  }
};

}  // namespace lathe
