"""Gemma 3's model of text in float64, written from its description: the judge of what is exported."""

import numpy as np


def _norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * (1 + weight)


def _turn(x, base):
    """x [length, heads, size], from position 0: halves (i, i + size/2) are turned together."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None, None] * base ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def _gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _capped(x, cap):
    return np.tanh(x / cap) * cap if cap else x


def logits(config, weight, ids):
    """Returns [length, words]. `weight(name)` gives a tensor by transformers' name; norms are without the 1."""

    def w(name):
        return np.asarray(weight(name), np.float64)

    heads, groups, size = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    epsilon, length = config["rms_norm_eps"], len(ids)
    embedding = w("model.embed_tokens.weight")
    x = embedding[np.asarray(ids)] * float(np.float32(np.sqrt(config["hidden_size"])))
    behind = np.arange(length)[:, None] - np.arange(length)[None]  # how far a key is behind a query
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        full = (i + 1) % config["sliding_window_pattern"] == 0
        base = config["rope_theta"] if full else config["rope_local_base_freq"]
        seen = (behind >= 0) & (full | (behind < config["sliding_window"]))
        h = _norm(x, w(layer + "input_layernorm.weight"), epsilon)
        q, k, v = (
            (h @ w(f"{layer}self_attn.{side}_proj.weight").T).reshape(length, n, size)
            for side, n in (("q", heads), ("k", groups), ("v", groups))
        )
        q = _turn(_norm(q, w(layer + "self_attn.q_norm.weight"), epsilon), base)
        k = _turn(_norm(k, w(layer + "self_attn.k_norm.weight"), epsilon), base)
        attended = np.empty((length, heads, size))
        for head in range(heads):
            group = head * groups // heads
            scores = q[:, head] @ k[:, group].T / np.sqrt(config["query_pre_attn_scalar"])
            scores = np.where(seen, _capped(scores, config.get("attn_logit_softcapping")), -np.inf)
            p = np.exp(scores - scores.max(-1, keepdims=True))
            attended[:, head] = p / p.sum(-1, keepdims=True) @ v[:, group]
        h = attended.reshape(length, -1) @ w(layer + "self_attn.o_proj.weight").T
        x = x + _norm(h, w(layer + "post_attention_layernorm.weight"), epsilon)
        h = _norm(x, w(layer + "pre_feedforward_layernorm.weight"), epsilon)
        h = _gelu(h @ w(layer + "mlp.gate_proj.weight").T) * (h @ w(layer + "mlp.up_proj.weight").T)
        x = x + _norm(h @ w(layer + "mlp.down_proj.weight").T, w(layer + "post_feedforward_layernorm.weight"), epsilon)
    x = _norm(x, w("model.norm.weight"), epsilon)
    return _capped(x @ embedding.T, config.get("final_logit_softcapping"))


def in_pieces(context, config, ids, lengths):
    """Logits of an exported model that gets the ids in pieces of these lengths, each with the past of those before."""
    shape = (1, config["num_key_value_heads"], 0, config["head_dim"])
    layers = range(config["num_hidden_layers"])
    past = {f"past_key_values.{i}.{side}": np.zeros(shape, np.float32) for i in layers for side in ("key", "value")}
    rows, begin = [], 0
    for length in lengths:
        end = begin + length
        feeds = {
            "input_ids": np.array([ids[begin:end]], np.int64),
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(begin, end, dtype=np.int64)[None],
        }
        outputs = context.run({**feeds, **past})
        rows.append(np.array(outputs["logits"][0]))
        past = {name: np.array(outputs[name.replace("past_key_values", "present")]) for name in past}
        begin = end
    return np.concatenate(rows)
