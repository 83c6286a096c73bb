#include "lathe/nn/attention.h"

#include <cmath>

#include "nn/access.h"

namespace lathe::nn {
namespace {

int64_t number_at(const TensorRef& t, size_t axis, const char* what) {
  const SymShape shape = t.shape();
  if (shape.size() != 4 || !shape[axis].is_constant())
    throw detail::fault(Code::node_bad_shape, t.name(), std::string("4 axes, and a known number of ") + what,
                        t.type());
  return shape[axis].constant();
}

/// Repeats heads of keys for the heads of queries that share them: [batch, groups, …] → [batch, heads, …].
TensorRef repeated(const Ops& o, const TensorRef& x, int64_t groups, int64_t heads) {
  if (groups == heads) return x;
  const int64_t size = number_at(x, 3, "elements of a head");
  const TensorRef wide = o.expand(o.unsqueeze(x, {2}), o.ints({1, 1, heads / groups, 1, 1}));
  return o.reshape(wide, {0, heads, -1, size});
}

}  // namespace

TensorRef attend(const Ops& o, const TensorRef& q, const TensorRef& k, const TensorRef& v,
                 const AttendOptions& a) {
  const int64_t heads = number_at(q, 1, "heads"), groups = number_at(k, 1, "heads");
  if (groups < 1 || heads % groups != 0)
    throw detail::fault(Code::node_bad_shape, q.name(), "heads that are a multiple of those of the keys",
                        std::to_string(heads) + " and " + std::to_string(groups));
  const double scale =
      a.scale ? *a.scale : 1 / std::sqrt(static_cast<double>(number_at(q, 3, "elements of a head")));
  TensorRef scores = o.matmul(q, o.transpose(repeated(o, k, groups, heads), {0, 1, 3, 2}));
  if (scale != 1) scores = o.mul(scores, scale);
  if (a.softcap != 0) scores = o.mul(o.op("Tanh", {o.div(scores, a.softcap)}), a.softcap);
  if (a.mask) scores = o.add(scores, a.mask);
  return o.matmul(o.softmax(scores), repeated(o, v, groups, heads));
}

TensorRef split_heads(const Ops& o, const TensorRef& x, int64_t heads) {
  const SymShape shape = x.shape();
  if (shape.size() != 3 || !shape[2].is_constant() || heads < 1 || shape[2].constant() % heads != 0)
    throw detail::fault(Code::node_bad_shape, x.name(),
                        "[batch, length, size] with a size that " + std::to_string(heads) + " heads divide",
                        x.type());
  return o.transpose(o.reshape(x, {0, 0, heads, shape[2].constant() / heads}), {0, 2, 1, 3});
}

TensorRef merge_heads(const Ops& o, const TensorRef& x) {
  const int64_t size = number_at(x, 1, "heads") * number_at(x, 3, "elements of a head");
  return o.reshape(o.transpose(x, {0, 2, 1, 3}), {0, 0, size});
}

Attention::Attention(int64_t size, int64_t heads, const AttentionModuleOptions& o)
    : heads_(heads), groups_(o.groups ? o.groups : heads), options_(o) {
  if (heads < 1 || groups_ < 1 || heads % groups_ != 0 || (!o.head_size && size % heads != 0))
    throw detail::fault(
        Code::bad_argument, "Attention",
        "heads that divide a size of " + std::to_string(size) + ", and groups that divide them",
        std::to_string(heads) + " heads, " + std::to_string(groups_) + " groups");
  const int64_t head = o.head_size ? o.head_size : size / heads,
                memory = o.memory_size ? o.memory_size : size;
  q_proj = Linear(size, heads * head, {.bias = o.bias});
  k_proj = Linear(memory, groups_ * head, {.bias = o.bias});
  v_proj = Linear(memory, groups_ * head, {.bias = o.bias});
  out_proj = Linear(heads * head, size, {.bias = o.output_bias});
  if (o.rope) rope.emplace(head, *o.rope);
}

AttentionResult Attention::operator()(const TensorRef& x, const AttentionInputs& in) const {
  const Ops o(*this, x);
  const TensorRef& from = in.memory ? in.memory : x;
  TensorRef q = split_heads(o, q_proj(x), heads_);
  KeyValues now{split_heads(o, k_proj(from), groups_), split_heads(o, v_proj(from), groups_)};
  const TensorRef queries = o.size(q, 2);
  if (rope) {
    TensorRef positions = in.positions;
    if (!positions) {
      positions = o.range(queries);
      if (in.past) positions = o.add(positions, o.size(in.past.key, 2));
      positions = o.unsqueeze(positions, {0});
    }
    const RopeAngles angles = rope->angles(positions);
    q = (*rope)(q, angles);
    now.key = (*rope)(now.key, angles);
  }
  if (in.past) {
    now.key = o.concat({in.past.key, now.key}, 2);
    now.value = o.concat({in.past.value, now.value}, 2);
  }
  const TensorRef keys = o.size(now.key, 2);
  TensorRef mask = in.mask;
  if (!mask)
    mask = attention_mask(o, in.padding, queries, keys, x.element_type(),
                          {.causal = options_.causal, .window = options_.window});
  if (options_.alibi) {
    const TensorRef bias = alibi_bias(o, heads_, keys, x.element_type(), queries);
    mask = mask ? o.add(bias, mask) : bias;
  }
  const TensorRef y =
      attend(o, q, now.key, now.value, {.mask = mask, .scale = options_.scale, .softcap = options_.softcap});
  return {out_proj(merge_heads(o, y)), now};
}

}  // namespace lathe::nn
