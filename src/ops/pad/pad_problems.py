"""Problems of Pad."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem
from slopes import constant, ints, one, real, slopes
from versions import form, inputs_since


@makes("Pad")
def pad(op, rng):
    s = shape(rng, 1, 4, 0)
    mode = pick(rng, ["constant", "reflect", "edge", "wrap"])
    axes = rng.permutation(len(s))[: rng.integers(1, len(s) + 1)]
    limit = {"reflect": lambda d: d - 1, "wrap": lambda d: d}.get(mode, lambda d: 3)
    low = -1 if mode == "constant" else 0
    pads = [int(rng.integers(low if s[a] > 2 else 0, max(limit(s[a]), 0) + 1)) for a in axes] + [
        int(rng.integers(low if s[a] > 2 else 0, max(limit(s[a]), 0) + 1)) for a in axes
    ]
    dtype = pick(rng, [np.float32, np.int64, np.uint8, np.float64])
    given = [array(rng, dtype, s), i64(pads), array(rng, dtype, ()) if mode == "constant" and chance(rng, 0.5) else None]
    given.append(i64([int(a) - (len(s) if chance(rng, 0.4) else 0) for a in axes]))
    return Problem(op, given, {"mode": mode}, opset=19, constant=tuple(c for c in maybe_constant(rng, 1, 3)))


@form("Pad")
def pads_of_all_axes(q, since):
    x, pads, fill, axes = q.inputs
    if q.attributes["mode"] == "wrap" and since < 19:
        return False
    if since < 18:
        whole = np.zeros((2, x.ndim), np.int64)
        whole[:, axes] = pads.reshape(2, -1)
        q.inputs = [x, whole.reshape(-1), fill]
    return None


inputs_since(11, "Pad", "pads", "value")


@form("Pad")
def paddings(q, since):
    if since == 1:
        q.attributes["paddings"] = q.attributes.pop("pads")


@slopes("Pad")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, ["p"], before=[constant("p", ints(1, 0, 2, 0, 1, -1))])
    yield one(op, x, ["p", "v"], before=[constant("p", ints(1, 0, 2, 0, 1, 0)), constant("v", 1.5)])
    yield one(op, x, ["p"], before=[constant("p", ints(1, 0, 2, 0, 0, 3))], mode="reflect")
