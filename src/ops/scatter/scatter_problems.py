"""Problems of Scatter, TensorScatter, ScatterElements and ScatterND."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh

from draw import array, axis_of, chance, i64, makes, pick, shape
from problem import Problem, rare_numbers
from slopes import Slope, constant, real, slopes
from tolerances import TERMS, held_to, sized
from versions import form, places_from_the_front


@makes("Scatter")
def scatter(op, rng):
    s = shape(rng, 1, 3, 0)
    axis = axis_of(rng, len(s))
    part = tuple(int(rng.integers(1, d + 1)) for d in s)
    # Each place once: which of two writes wins is not said.
    order = np.argsort(rng.random((*part[: axis % len(s)], s[axis], *part[axis % len(s) + 1 :])), axis=axis)
    indices = i64(np.take(order, range(part[axis]), axis=axis))
    dtype = pick(rng, [np.float32, np.int64, np.float64])
    return Problem(op, [array(rng, dtype, s), indices, array(rng, dtype, part)], {"axis": axis}, opset=9)


@makes("TensorScatter")
def tensor_scatter(op, rng):
    batch, length, size = (int(rng.integers(1, 4)) for _ in range(3))
    most = length + int(rng.integers(0, 3))
    past, update = array(rng, np.float32, (batch, 2, most, size), 0), array(rng, np.float32, (batch, 2, length, size), 0)
    return Problem(op, [past, update, i64(rng.integers(0, most - length + 1, batch))], {"mode": "linear"}, opset=24)


@makes("ScatterElements", "ScatterND")
def scatter(op, rng):
    reduction = pick(rng, ["none", "add", "mul", "max", "min"])
    dtype = pick(rng, [np.float32, np.int64, np.float64, np.int32])
    s = shape(rng, 1, 3, 0)
    x = array(rng, dtype, s, 0)
    if op == "ScatterElements":
        axis = axis_of(rng, len(s))
        counts = [int(rng.integers(0 if chance(rng, 0.1) else 1, d + 1)) for d in s]
        indices = rng.integers(-s[axis], s[axis], counts)
        if reduction == "none":  # no two writes to one place
            counts[axis] = int(rng.integers(1, s[axis] + 1))
            order = np.argsort(rng.random([s[a] if a == axis % len(s) else c for a, c in enumerate(counts)]), axis=axis)
            indices = np.take(order, range(counts[axis]), axis=axis)
        return Problem(op, [x, indices.astype(np.int64), array(rng, dtype, indices.shape, 0)], {"axis": axis, "reduction": reduction}, opset=18)
    last = int(rng.integers(1, len(s) + 1))
    places = shape(rng, 1, 2)
    indices = np.stack([rng.integers(-d, d, places) for d in s[:last]], -1).astype(np.int64)
    if reduction == "none":
        indices = indices.reshape(-1, last)[:1]
    return Problem(op, [x, indices, array(rng, dtype, (*indices.shape[:-1], *s[last:]), 0)], {"reduction": reduction}, opset=18)


rare_numbers("TensorScatter")

places_from_the_front("Scatter", indices=True)


@form("ScatterElements", "ScatterND")
def reductions(q, since):
    return since >= 18 or q.attributes["reduction"] in (("none", "add", "mul") if since >= 16 else ("none",))


sized(TERMS, "ScatterElements ScatterND")
held_to(2, "ScatterElements ScatterND")


@slopes("ScatterElements", "ScatterND")
def derivatives(op):
    x = real(3, 4)
    for reduction in ("none", "add"):
        if op == "ScatterElements":
            nodes, u, attributes = [constant("i", np.array([[0, 2], [1, 0]]))], real(2, 2, seed=1), {"axis": 1}
        else:
            nodes, u, attributes = [constant("i", np.array([[2, 1], [0, 3]]))], real(2, seed=2), {}
        nodes.append(oh.make_node(op, ["x", "i", "u"], ["y"], reduction=reduction, **attributes))
        yield Slope(nodes, {"x": x, "u": u})
