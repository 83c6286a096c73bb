#include "ops/attention/decomposition.h"

#include <limits>

#include "ops/attention/attention.h"
#include "schema/node_builder.h"

namespace lathe::decomposition {
using namespace node_builder;
namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

/// Builds the scores [batch, heads, queries, keys] and what is computed of them.
class AttentionWords {
 public:
  explicit AttentionWords(DecomposeContext& c)
      : c_(c),
        op_(decode<Attention>(c.node().attributes)),
        type_(computed_in(elem_of(c, input(c, 0)))),
        heads_last_(rank_of(c, input(c, 0)) == 3),
        q_(heads_first(widened(c, input(c, 0)), op_.q_num_heads)),
        k_(with_past(heads_first(input(c, 1), op_.kv_num_heads), 4)),
        v_(with_past(heads_first(input(c, 2), op_.kv_num_heads), 5)) {}

  std::vector<ValueId> outputs() {
    find_shared_heads();
    std::vector<ValueId> shown(4, no_id);
    ValueId scores = shown[0] =
        one(c_, "Mul", {products(q_, transposed(c_, cast(c_, k_, type_), {0, 1, 3, 2})), scale()});
    if (op_.softcap > 0) {
      const auto cap = static_cast<double>(op_.softcap);
      scores = times(c_, one(c_, "Tanh", {times(c_, scores, 1 / cap)}), cap);
    }
    shown[1] = scores;
    find_bias();
    shown[2] = scores = with_bias(scores);
    shown[3] = probabilities(scores);
    const ValueId y = heads_as_given(products(shown[3], cast(c_, v_, type_)));
    const DataType type = elem_of(c_, input(c_, 0));
    const ValueId wanted = shown[static_cast<size_t>(op_.qk_matmul_output_mode)];
    return {cast(c_, y, type), wants(c_, 1) ? k_ : no_id, wants(c_, 2) ? v_ : no_id,
            wants(c_, 3) ? cast(c_, wanted, type) : no_id};
  }

 private:
  ValueId heads_first(ValueId v, const std::optional<int64_t>& heads) const {
    if (!heads_last_) return v;
    // If a rank was unknown, the shape rule did not check this.
    if (!heads || *heads < 1) unsupported("at least one head", heads ? std::to_string(*heads) : "none");
    const auto width = known(size_of(c_, v, -1));
    const ValueId apart = reshaped(c_, v, {0, 0, *heads, width ? *width / *heads : -1});
    return transposed(c_, apart, {0, 2, 1, 3});
  }
  ValueId heads_as_given(ValueId y) const {
    if (!heads_last_) return y;
    const auto size = known(size_of(c_, y, -1));
    return reshaped(c_, transposed(c_, y, {0, 2, 1, 3}), {0, 0, size ? *op_.q_num_heads * *size : -1});
  }
  ValueId with_past(ValueId now, size_t past) const {
    return has(c_, past) ? concat(c_, {input(c_, past), now}, 2) : now;
  }

  /// Finds whether query heads share key heads: those of one key head are then multiplied like more queries.
  void find_shared_heads() {
    const Dim queries = size_of(c_, q_, 1), keys = size_of(c_, k_, 1);
    if (queries == keys && !queries.has_unknown()) return;
    q_heads_ = known(queries).value_or(0);
    kv_heads_ = known(keys).value_or(0);
    if (q_heads_ == 0 || kv_heads_ == 0)
      unsupported("known numbers of heads", queries.str() + " and " + keys.str());
  }
  ValueId products(ValueId a, ValueId b) const {
    if (q_heads_ == kv_heads_) return one(c_, "MatMul", {a, b});
    const ValueId grouped = reshaped(c_, a, {0, kv_heads_, -1, 0});
    return reshaped(c_, one(c_, "MatMul", {grouped, b}), {0, q_heads_, -1, 0});
  }
  ValueId scale() const {
    return op_.scale ? number(c_, static_cast<double>(*op_.scale), type_) : inverse_root_of_size(c_, q_);
  }

  /// Masks all keys but `which`.
  void keep(ValueId which) {
    const ValueId others = bias_ == no_id ? number(c_, 0, type_) : bias_;
    bias_ = one(c_, "Where", {which, others, number(c_, masked, type_)});
  }
  /// Extends a mask that is shorter than the keys: the rest is masked.
  ValueId covering_all_keys(ValueId mask) const {
    if (size_of(c_, mask, -1) == size_of(c_, k_, 2) && !size_of(c_, mask, -1).has_unknown()) return mask;
    const ValueId missing = one(c_, "Sub", {length(c_, k_, 2), length(c_, mask, -1)});
    const std::vector<int64_t> none(static_cast<size_t>(2 * rank_of(c_, mask) - 1), 0);
    const DataType type = elem_of(c_, mask);
    return one(c_, "Pad",
               {mask, concat(c_, {ints(c_, none), missing}, 0),
                type == DataType::boolean ? no_id : number(c_, masked, type)});
  }
  /// The mask; keys within the samples' lengths, not after their query, in the window.
  void find_bias() {
    if (has(c_, 3)) {
      const ValueId mask = input(c_, 3);
      if (elem_of(c_, mask) == DataType::boolean)
        keep(covering_all_keys(mask));
      else
        bias_ = covering_all_keys(cast(c_, mask, type_));
    }
    const bool windowed = op_.is_causal || op_.left_window >= 0 || op_.right_window >= 0;
    if (!windowed && !has(c_, 6)) return;
    const ValueId key = count_up(c_, length(c_, k_, 2));
    if (has(c_, 6)) keep(one(c_, "Less", {key, unsqueezed(c_, input(c_, 6), {1, 2, 3})}));
    if (!windowed) return;
    const ValueId distance = one(c_, "Sub", {key, positions()});  // of a key behind its query
    const auto at_most = [&](ValueId v, int64_t most) {
      keep(one(c_, "Not", {one(c_, "Greater", {v, int_scalar(c_, most)})}));
    };
    if (op_.is_causal) at_most(distance, 0);
    if (op_.left_window >= 0) at_most(one(c_, "Neg", {distance}), op_.left_window);
    if (op_.right_window >= 0) at_most(distance, op_.right_window);
  }
  /// Replaces scores of masked keys, which may be any number.
  ValueId with_bias(ValueId scores) const {
    if (bias_ == no_id) return scores;
    const ValueId none = number(c_, masked, type_);
    return one(c_, "Where", {one(c_, "Equal", {bias_, none}), none, one(c_, "Add", {scores, bias_})});
  }
  /// The position of each query among the keys: [queries, 1], or one list for each sample.
  ValueId positions() const {
    const ValueId queries = length(c_, q_, 2), query = unsqueezed(c_, count_up(c_, queries), {1});
    if (has(c_, 6)) {
      const ValueId lengths = one(c_, "Min", {input(c_, 6), length(c_, k_, 2)});
      return one(c_, "Add", {query, unsqueezed(c_, one(c_, "Sub", {lengths, queries}), {1, 2, 3})});
    }
    return has(c_, 4) ? one(c_, "Add", {query, length(c_, input(c_, 4), 2)}) : query;
  }

  /// If all keys are masked, every probability is 0.
  ValueId probabilities(ValueId scores) const {
    ValueId rounded = scores;
    if (op_.softmax_precision) rounded = cast(c_, scores, static_cast<DataType>(*op_.softmax_precision));
    if (computed_in(elem_of(c_, rounded)) != elem_of(c_, rounded)) rounded = cast(c_, rounded, type_);
    const ValueId p = cast(c_, one(c_, "Softmax", {rounded}, with("axis", int64_t{-1})), type_);
    if (bias_ == no_id) return p;
    const ValueId most = reduced(c_, "ReduceMax", bias_, {-1});
    return one(c_, "Where", {one(c_, "Equal", {most, number(c_, masked, type_)}), number(c_, 0, type_), p});
  }

  DecomposeContext& c_;
  const Attention op_;
  const DataType type_;  // in which all is computed
  const bool heads_last_;
  const ValueId q_, k_, v_;  // [batch, heads, length, size]; of k and v the types are those given
  int64_t q_heads_ = 0, kv_heads_ = 0;
  ValueId bias_ = no_id;  // broadcasts to the scores; minus infinity: masked
};

}  // namespace

std::vector<ValueId> attention(DecomposeContext& c) { return AttentionWords(c).outputs(); }

std::vector<ValueId> rotary_embedding(DecomposeContext& c) {
  const auto op = decode<RotaryEmbedding>(c.node().attributes);
  ValueId x = widened(c, input(c, 0));
  const bool heads_last = rank_of(c, x) == 3;
  const auto width = known(size_of(c, x, -1));
  if (heads_last) x = reshaped(c, x, {0, 0, op.num_heads, width ? *width / op.num_heads : -1});
  const auto angles = [&](size_t i) {
    ValueId v = input(c, i);
    if (has(c, 3)) v = one(c, "Gather", {v, input(c, 3)});
    return widened(c, unsqueezed(c, v, {heads_last ? 2 : 1}));
  };
  const ValueId cosine = angles(1), sine = angles(2);
  const ValueId start = ints(c, {0}), end = ints(c, {std::numeric_limits<int64_t>::max()});
  ValueId rest = no_id;
  if (op.rotary_embedding_dim > 0 && known(size_of(c, x, -1)) != op.rotary_embedding_dim) {
    const ValueId rotated = ints(c, {op.rotary_embedding_dim});
    rest = sliced(c, x, rotated, end, -1);
    x = sliced(c, x, start, rotated, -1);
  }
  std::vector<ValueId> pair;
  if (op.interleaved) {
    const auto every_second = [&](ValueId from) {
      return one(c, "Slice", {x, from, end, ints(c, {-1}), ints(c, {2})});
    };
    pair = {every_second(start), every_second(ints(c, {1}))};
  } else {
    Attributes halves = with("axis", int64_t{-1});
    halves.set("num_outputs", int64_t{2});
    pair = c.insert("Split", {x}, std::move(halves), 2);
  }
  const auto product = [&](ValueId a, ValueId b) { return one(c, "Mul", {a, b}); };
  std::vector<ValueId> rotated{one(c, "Sub", {product(cosine, pair[0]), product(sine, pair[1])}),
                               one(c, "Add", {product(sine, pair[0]), product(cosine, pair[1])})};
  if (op.interleaved) {
    for (ValueId& v : rotated) v = unsqueezed(c, v, {-1});
    rotated = {reshaped(c, concat(c, std::move(rotated), -1), {0, 0, 0, -1})};
  }
  if (rest != no_id) rotated.push_back(rest);
  ValueId y = rotated.size() == 1 ? rotated[0] : concat(c, std::move(rotated), -1);
  if (heads_last) y = reshaped(c, y, {0, 0, width ? *width : -1});
  return {cast(c, y, elem_of(c, input(c, 0)))};
}

}  // namespace lathe::decomposition
