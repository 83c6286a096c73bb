// Attention, rotary embedding, the cache of keys and values.
#include "network/maker.h"

namespace lathe {

Layer Network::add_attention(const TensorRef& query, const TensorRef& key, const TensorRef& value,
                             const AttentionOptions& o) {
  LayerMaker m(*this, "attention", o.name);
  m.made_by("add_attention", query, key, value, o);
  if (!o.past_key != !o.past_value)
    m.fail(Code::node_bad_arity, "past_key and past_value, or neither", "one of them");
  Attrs a;
  if (o.causal) a.number("is_causal", 1);
  if (o.query_heads) a.number("q_num_heads", o.query_heads);
  if (o.key_heads) a.number("kv_num_heads", o.key_heads);
  if (o.scale) a.with("scale", *o.scale);
  if (o.softcap != 0) a.with("softcap", o.softcap);
  if (o.left_window != -1) a.number("left_window_size", o.left_window);
  if (o.right_window != -1) a.number("right_window_size", o.right_window);
  return m.finish(m.ops("Attention",
                        {m.use(query), m.use(key), m.use(value), m.use_if(o.mask), m.use_if(o.past_key),
                         m.use_if(o.past_value), m.use_if(o.lengths)},
                        o.past_key ? 3 : 1, a));
}

Layer Network::add_rotary_embedding(const TensorRef& x, const TensorRef& cos, const TensorRef& sin,
                                    const RotaryEmbeddingOptions& o) {
  LayerMaker m(*this, "rotary_embedding", o.name);
  m.made_by("add_rotary_embedding", x, cos, sin, o);
  Attrs a;
  if (o.interleaved) a.number("interleaved", 1);
  if (o.rotary_size) a.number("rotary_embedding_dim", o.rotary_size);
  if (o.heads) a.number("num_heads", o.heads);
  return m.finish(m.op("RotaryEmbedding", {m.use(x), m.use(cos), m.use(sin), m.use_if(o.positions)}, a));
}

Layer Network::add_kv_cache_update(const TensorRef& cache, const TensorRef& update,
                                   const TensorRef& positions, const KvCacheOptions& o) {
  LayerMaker m(*this, "kv_cache_update", o.name);
  m.made_by("add_kv_cache_update", cache, update, positions, o);
  Attrs a;
  if (o.mode == KvCacheMode::ring) a.text("mode", "circular");
  if (o.axis != -2) a.number("axis", o.axis);
  return m.finish(m.op("TensorScatter", {m.use(cache), m.use(update), m.use_if(positions)}, a));
}

}  // namespace lathe
