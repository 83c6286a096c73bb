"""Windows, products, normalisations, recurrent layers, attention."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, broadcastable, chance, makes, maybe_constant, pick, shape
from problem import Problem


def spatial(rng):
    rank = int(rng.integers(1, 4))
    sizes = [int(rng.integers(1, 9)) for _ in range(rank)]
    return rank, sizes


def window(rng, rank, sizes, dilated=True):
    """Attributes that leave at least one place for the window."""
    kernel = [int(rng.integers(1, 5)) for _ in range(rank)]
    attributes = {"kernel_shape": kernel}
    if chance(rng, 0.7):
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(rank)]
    if dilated and chance(rng, 0.4):
        attributes["dilations"] = [int(rng.integers(1, 3)) for _ in range(rank)]
    how = pick(rng, ["pads", "none", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if how == "pads":
        attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    elif how != "none":
        attributes["auto_pad"] = how
    for i in range(rank):
        d = attributes.get("dilations", [1] * rank)[i]
        sizes[i] = max(sizes[i], (kernel[i] - 1) * d + 1)
    return attributes


@makes("MaxPool", "AveragePool", "LpPool")
def pool(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    if "auto_pad" not in attributes or attributes["auto_pad"] == "VALID":
        attributes["ceil_mode"] = int(rng.integers(2))
    x = array(rng, pick(rng, [np.float32] * 3 + [np.float64]), (int(rng.integers(1, 3)), int(rng.integers(1, 4)), *sizes), 0)
    outputs = 1
    if op == "MaxPool":
        outputs = int(rng.integers(1, 3))
        if chance(rng, 0.2):
            x = array(rng, pick(rng, [np.int8, np.uint8]), x.shape)
        if chance(rng, 0.2):
            attributes["storage_order"] = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = int(rng.integers(2))
    if op == "LpPool":
        attributes["p"] = int(rng.integers(1, 4))
    return Problem(op, [x], attributes, outputs, opset=22)


@makes("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(op, rng):
    power = {"p": int(rng.integers(1, 4))} if op == "GlobalLpPool" and chance(rng, 0.6) else {}
    return Problem(op, [array(rng, np.float32, shape(rng, 3, 5, 0), 0)], power, opset=pick(rng, [21, 22]))


@makes("Conv")
def conv(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    group = int(rng.integers(1, 4))
    c, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x = array(rng, np.float32, (int(rng.integers(1, 3)), group * c, *sizes), 0, -1, 1)
    w = array(rng, np.float32, (group * m, c, *attributes["kernel_shape"]), 0, -1, 1)
    given = [x, w] + ([array(rng, np.float32, (group * m,), 0)] if chance(rng, 0.5) else [])
    return Problem(op, given, {**attributes, "group": group}, opset=22, constant=maybe_constant(rng, *range(1, len(given))))


@makes("ConvTranspose")
def conv_transpose(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    group, c, m = int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if chance(rng, 0.4):
        limits = [max(s, d) for s, d in zip(attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank))]
        attributes["output_padding"] = [int(rng.integers(0, n)) for n in limits]
    x = array(rng, np.float32, (1, group * c, *sizes), 0, -1, 1)
    w = array(rng, np.float32, (group * c, m, *attributes["kernel_shape"]), 0, -1, 1)
    return Problem(op, [x, w], {**attributes, "group": group}, opset=22, constant=maybe_constant(rng, 1))


@makes("ConvInteger")
def conv_integer(op, rng):
    rank, sizes = 2, [int(rng.integers(1, 9)) for _ in range(2)]
    attributes = window(rng, rank, sizes)
    x = array(rng, np.uint8, (1, 2, *sizes))
    w = array(rng, np.uint8, (3, 2, *attributes["kernel_shape"]))
    return Problem(op, [x, w, array(rng, np.uint8, ()), array(rng, np.uint8, ())], attributes)


@makes("MatMul")
def matmul(op, rng):
    dtype = pick(rng, [np.float32] * 3 + [np.float64, np.int32, np.int64, np.uint32])
    m, k, n = (int(rng.integers(0 if chance(rng, 0.1) else 1, 9)) for _ in range(3))
    a, b = broadcastable(rng, 2, 0.05)
    a, b = a[-2:], b[-2:]
    left, right = ((k,) if chance(rng, 0.2) else (*a, m, k)), ((k,) if chance(rng, 0.2) else (*b, k, n))
    return Problem(op, [array(rng, dtype, left, 0), array(rng, dtype, right, 0)], constant=maybe_constant(rng, 1))


@makes("Gemm")
def gemm(op, rng):
    m, k, n = (int(rng.integers(0 if chance(rng, 0.1) else 1, 9)) for _ in range(3))
    ta, tb = int(rng.integers(2)), int(rng.integers(2))
    dtype = pick(rng, [np.float32] * 3 + [np.float64])
    a, b = array(rng, dtype, (k, m) if ta else (m, k), 0), array(rng, dtype, (n, k) if tb else (k, n), 0)
    c = pick(rng, [None, (), (1,), (n,), (1, n), (m, 1), (m, n), (1, 1)])
    given = [a, b] + ([] if c is None else [array(rng, dtype, c, 0)])
    return Problem(op, given, {"transA": ta, "transB": tb, "alpha": float(pick(rng, [1.0, 0.5, 0.0])), "beta": float(pick(rng, [1.0, 0.5, 0.0]))},
                   opset=13, constant=maybe_constant(rng, *range(1, len(given))))  # fmt: skip


@makes("MatMulInteger")
def matmul_integer(op, rng):
    m, k, n = (int(rng.integers(1, 9)) for _ in range(3))
    ta, tb = pick(rng, [np.uint8, np.int8]), pick(rng, [np.uint8, np.int8])
    zero_a = array(rng, ta, ())
    zero_b = array(rng, tb, (n,) if chance(rng, 0.3) else ())
    return Problem(op, [array(rng, ta, (m, k)), array(rng, tb, (k, n)), zero_a, zero_b], constant=maybe_constant(rng, 1))


@makes("Einsum")
def einsum(op, rng):
    equation = pick(rng, ["ij,jk->ik", "ij->ji", "ii->i", "ii", "ij,ij->", "bij,bjk->bik", "...ij,...jk->...ik", "i,j->ij",
                          "ij,j", "...i->...", "abc,cd->abd", "ab,ab->b", "...ii->...i", "ij,jk,kl->il"])  # fmt: skip
    sizes, left = {c: int(rng.integers(1, 5)) for c in "abcdijkl"}, equation.split("->")[0]
    extra = tuple(int(rng.integers(1, 4)) for _ in range(rng.integers(0, 3)))
    given = []
    for term in left.replace(" ", "").split(","):
        head = ()
        if term.startswith("..."):
            head, term = extra[rng.integers(0, len(extra) + 1) :], term[3:]
        given.append(array(rng, np.float32, head + tuple(sizes[c] for c in term), 0))
    return Problem(op, given, {"equation": equation})


@makes("Softmax", "LogSoftmax", "Hardmax")
def softmax(op, rng):
    s = shape(rng, 2, 4, largest=9)
    return Problem(op, [array(rng, pick(rng, [np.float32] * 3 + [np.float64]), s, 0)],
                   {"axis": axis_of(rng, len(s))} if chance(rng, 0.8) else {}, opset=pick(rng, [11, 13]))  # fmt: skip


@makes("LayerNormalization", "RMSNormalization")
def layer_norm(op, rng):
    s = shape(rng, 1, 4, 0, 9)
    axis = axis_of(rng, len(s))
    given = [array(rng, np.float32, s, 0), array(rng, np.float32, s[axis:], 0)]
    if op == "LayerNormalization" and chance(rng, 0.5):
        given.append(array(rng, np.float32, s[axis:], 0))
    outputs = int(rng.integers(1, 4)) if op == "LayerNormalization" else 1
    return Problem(op, given, {"axis": axis}, outputs, 23)


@makes("InstanceNormalization", "GroupNormalization", "BatchNormalization", "LRN", "MeanVarianceNormalization", "LpNormalization")
def other_norms(op, rng):
    s = (int(rng.integers(1, 3)), int(rng.integers(1, 4)) * 2, *(int(rng.integers(1, 6)) for _ in range(rng.integers(1, 4))))
    if op == "MeanVarianceNormalization":
        s = (*s[:2], *(s[2:] * 2)[:2])
    x, c = array(rng, np.float32, s, 0), s[1]
    if op == "InstanceNormalization":
        return Problem(op, [x, array(rng, np.float32, (c,), 0), array(rng, np.float32, (c,), 0)])
    if op == "GroupNormalization":
        return Problem(op, [x, array(rng, np.float32, (c,), 0), array(rng, np.float32, (c,), 0)], {"num_groups": pick(rng, [1, 2, c])})
    if op == "BatchNormalization":
        given = [array(rng, np.float32, (c,), 0) for _ in range(3)] + [array(rng, np.float32, (c,), 0, 0.1, 2)]
        return Problem(op, [x, *given], {"epsilon": 1e-3})
    if op == "LRN":
        more = {"alpha": 0.1, "beta": 0.5, "bias": 2.0} if chance(rng, 0.5) else {}
        return Problem(op, [x], {"size": int(rng.integers(1, 6)), **more})
    if op == "MeanVarianceNormalization":
        return Problem(op, [x], {"axes": pick(rng, [[0, 2, 3], [1], [-1], [0, 1, 2, 3]])})
    return Problem(op, [x], {"axis": axis_of(rng, len(s)), "p": int(rng.integers(1, 3))})


@makes("LSTM", "GRU", "RNN")
def recurrent(op, rng):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    t, b, i, h = (int(rng.integers(1, 5)) for _ in range(4))
    direction = pick(rng, ["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    attributes = {"hidden_size": h, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    if chance(rng, 0.2):
        attributes["clip"] = 0.5
    f = lambda *s: array(rng, np.float32, s, 0, -1, 1)  # noqa: E731
    given = [f(t, b, i), f(d, gates * h, i), f(d, gates * h, h)]
    given.append(f(d, 2 * gates * h) if chance(rng, 0.6) else None)
    given.append(rng.integers(0 if chance(rng, 0.2) else 1, t + 1, b).astype(np.int32) if chance(rng, 0.5) else None)
    given.append(f(d, b, h) if chance(rng, 0.5) else None)
    if op == "LSTM":
        given.append(f(d, b, h) if chance(rng, 0.5) else None)
        given.append(f(d, 3 * h) if chance(rng, 0.3) else None)
        attributes["input_forget"] = int(chance(rng, 0.2))
    return Problem(op, given, attributes, 3 if op == "LSTM" else 2, 14, maybe_constant(rng, 1, 2))


@makes("Attention")
def attention(op, rng):
    b, heads, q, k, d, v = (int(rng.integers(1, 4)) for _ in range(6))
    groups = pick(rng, [1, 2])
    f = lambda *s: array(rng, np.float32, s, 0, -1, 1)  # noqa: E731
    given = [f(b, heads * groups, q, d), f(b, heads, k, d), f(b, heads, k, v)]
    attributes = {"is_causal": int(rng.integers(2))}
    if chance(rng, 0.5):
        given.append(f(q, k) if chance(rng, 0.5) else array(rng, bool, (q, k)) | True)
    if chance(rng, 0.3):
        attributes["softcap"] = 2.0
    if chance(rng, 0.3):
        attributes["scale"] = 0.7
    return Problem(op, given, attributes, opset=23)
