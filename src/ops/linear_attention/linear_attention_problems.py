"""Problems of LinearAttention and CausalConvWithState."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, pick
from problem import Problem, batch_axes, rare_numbers
from tolerances import INPUTS, TERMS, held_to, sized


@makes("LinearAttention")
def linear_attention(op, rng):
    batch, length, heads, shared, d_k, d_v = (int(rng.integers(1, 4)) for _ in range(6))
    rule = pick(rng, ["linear", "gated", "delta", "gated_delta"])
    q = array(rng, np.float32, (batch, length, heads * shared * d_k), 0, -1, 1)
    k = array(rng, np.float32, (batch, length, heads * d_k), 0, -1, 1)
    v = array(rng, np.float32, (batch, length, heads * d_v), 0, -1, 1)
    past = array(rng, np.float32, (batch, heads, d_k, d_v), 0) if chance(rng, 0.5) else None
    decay = array(rng, np.float32, (batch, length, heads * pick(rng, [1, d_k])), 0, -2, 0) if "gated" in rule else None
    beta = array(rng, np.float32, (batch, length, pick(rng, [1, heads])), 0, 0, 1) if "delta" in rule else None
    attributes = {"update_rule": rule, "q_num_heads": heads * shared, "kv_num_heads": heads}
    return Problem(op, [q, k, v, past, decay, beta], attributes, 2, 27)


@makes("CausalConvWithState")
def causal_conv(op, rng):
    batch, channels, length, k = (int(rng.integers(1, 5)) for _ in range(4))
    x, w = array(rng, np.float32, (batch, channels, length), 0), array(rng, np.float32, (channels, 1, k), 0)
    bias = array(rng, np.float32, (channels,), 0) if chance(rng, 0.5) else None
    past = array(rng, np.float32, (batch, channels, k - 1), 0) if chance(rng, 0.5) else None
    return Problem(op, [x, w, bias, past], {"activation": pick(rng, ["none", "silu", "swish"])}, 2, 27)


rare_numbers("CausalConvWithState")
batch_axes("CausalConvWithState", (0, 0), (3, 0))
batch_axes("LinearAttention", (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0))

sized(TERMS, "CausalConvWithState")
sized(INPUTS, "LinearAttention")
held_to(2, "CausalConvWithState LinearAttention")
