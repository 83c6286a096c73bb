"""What language models and losses are made of, and signals."""

from __future__ import annotations

import numpy as np

from draw import FLOATS, array, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem


@makes("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(op, rng):
    n, c = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    inner = shape(rng, 0, 2, 0)
    dtype = pick(rng, FLOATS)
    classes = rng.integers(0, c, (n, *inner)).astype(pick(rng, [np.int32, np.int64]))
    attributes = {"reduction": pick(rng, ["none", "sum", "mean"])}
    if chance(rng, 0.5):
        attributes["ignore_index"] = int(pick(rng, [0, -1, c + 3]))
        classes = np.where(rng.random(classes.shape) < 0.2, attributes["ignore_index"], classes).astype(classes.dtype)
    weights = [array(rng, dtype, (c,), 0, 0.1, 2)] if chance(rng, 0.5) else []
    outputs = 2 if op.startswith("Softmax") and chance(rng, 0.5) else 1
    return Problem(op, [array(rng, dtype, (n, c, *inner), 0), classes, *weights], attributes, outputs, 13)


@makes("Det")
def det(op, rng):
    n = int(rng.integers(1, 5))
    return Problem(op, [array(rng, pick(rng, [np.float32, np.float64]), (*shape(rng, 0, 2), n, n), 0)], opset=22)


@makes("STFT")
def stft(op, rng):
    length, frame = int(rng.integers(4, 20)), int(rng.integers(1, 5))
    signal = array(rng, pick(rng, [np.float32, np.float64]), (int(rng.integers(1, 3)), length, 1), 0)
    window = array(rng, signal.dtype, (frame,), 0) if chance(rng, 0.5) else None
    return Problem(op, [signal, i64(int(rng.integers(1, 4))), window, i64(frame)], {"onesided": int(rng.integers(2))}, opset=17, constant=(1, 3))


@makes("MelWeightMatrix")
def mel(op, rng):
    length = int(rng.integers(8, 40))
    numbers = [i64(int(rng.integers(1, 8))), i64(length), i64(8000), np.float32(rng.uniform(0, 500)), np.float32(rng.uniform(1000, 3500))]
    return Problem(op, [np.asarray(v) for v in numbers], {}, opset=17, constant=maybe_constant(rng, 0, 1, 2))


@makes("Swish", "SwiGLU")
def gated(op, rng):
    dtype = pick(rng, FLOATS)
    s = shape(rng, 1, 3)
    if op == "Swish":
        return Problem(op, [array(rng, dtype, s)], {"alpha": float(pick(rng, [1.0, 0.5, -1.0]))}, opset=24)
    return Problem(op, [array(rng, dtype, s), array(rng, dtype, s)], {"alpha": float(pick(rng, [1.0, 0.5, -1.0]))} if chance(rng, 0.5) else {}, opset=28)


@makes("RotaryEmbedding")
def rotary(op, rng):
    batch, heads, length, half = (int(rng.integers(1, 4)) for _ in range(4))
    rotated = half if chance(rng, 0.6) else int(rng.integers(1, half + 1))
    x = array(rng, np.float32, (batch, heads, length, 2 * half), 0)
    caches = [array(rng, np.float32, (8, rotated), 0, -1, 1) for _ in range(2)]
    attributes = {"interleaved": int(rng.integers(2)), "rotary_embedding_dim": 2 * rotated if rotated != half else 0}
    return Problem(op, [x, *caches, i64(rng.integers(0, 8, (batch, length)))], attributes, opset=23)


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


@makes("QLinearMatMul", "QLinearConv")
def quantized(op, rng):
    def number(dtype=None):
        return np.asarray(rng.uniform(0.01, 0.1), np.float32) if dtype is None else array(rng, dtype, (), 0)

    kinds = [pick(rng, [np.uint8, np.int8]) for _ in range(2)]
    out = kinds[0]
    if op == "QLinearMatMul":
        m, k, n = (int(rng.integers(1, 5)) for _ in range(3))
        a, b = array(rng, kinds[0], (m, k)), array(rng, kinds[1], (k, n))
        return Problem(op, [a, number(), number(kinds[0]), b, number(), number(kinds[1]), number(), number(out)], {}, opset=21)
    c, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x, w = array(rng, kinds[0], (1, c, 5, 5)), array(rng, kinds[1], (m, c, 3, 3))
    return Problem(op, [x, number(), number(kinds[0]), w, number(), np.zeros((), kinds[1]), number(), number(out)], {"pads": [int(v) for v in rng.integers(0, 2, 4)]}, opset=10)


@makes("TensorScatter")
def tensor_scatter(op, rng):
    batch, length, size = (int(rng.integers(1, 4)) for _ in range(3))
    most = length + int(rng.integers(0, 3))
    past, update = array(rng, np.float32, (batch, 2, most, size), 0), array(rng, np.float32, (batch, 2, length, size), 0)
    return Problem(op, [past, update, i64(rng.integers(0, most - length + 1, batch))], {"mode": "linear"}, opset=24)


@makes("DeformConv")
def deform_conv(op, rng):
    c, m, size = int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(3, 6))
    x, w = array(rng, np.float32, (1, c, size, size), 0), array(rng, np.float32, (m, c, 2, 2), 0)
    offset = array(rng, np.float32, (1, 8, size - 1, size - 1), 0, -1, 1)
    return Problem(op, [x, w, offset], {"kernel_shape": [2, 2]}, opset=22)


@makes("BitCast")
def bit_cast(op, rng):
    source, target = pick(rng, [(np.float32, 6), (np.int32, 1), (np.int64, 11), (np.uint8, 3), (np.float16, 5)])
    return Problem(op, [array(rng, source, shape(rng))], {"to": target}, opset=26)

