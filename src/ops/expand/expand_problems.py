"""Problems of Tile and Expand."""

from __future__ import annotations

import numpy as np

from draw import MOVED, array, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem
from slopes import constant, ints, one, real, slopes
from versions import again, form


@makes("Tile", "Expand")
def expand(op, rng):
    dtype = pick(rng, MOVED)
    s = shape(rng, 0 if op == "Expand" else 1, 4)
    x = array(rng, dtype, s)
    if op == "Tile":
        return Problem(op, [x, i64(rng.integers(0 if chance(rng, 0.1) else 1, 4, len(s)))], constant=maybe_constant(rng, 1))
    target = [int(rng.integers(1, 4)) if d == 1 else pick(rng, [1, d]) for d in s]
    target = ([int(rng.integers(1, 3))] if chance(rng, 0.3) else []) + target[int(chance(rng, 0.3)) :]
    return Problem(op, [x, i64(target)], constant=maybe_constant(rng, 1))


@form("Tile")
def one_axis(q, since):
    if since > 1:
        return None
    x, repeats = q.inputs
    if not x.ndim or x.dtype.kind != "f":
        return False
    axis = int(repeats.argmax())
    again(q, inputs=[x, np.where(np.arange(x.ndim) == axis, repeats, 1)])
    q.inputs = [x, np.array(repeats[axis], x.dtype), np.array(axis, x.dtype)]
    q.constant = (1, 2) if 1 in q.constant else ()
    return None


@slopes("Expand", "Tile")
def derivatives(op):
    yield one(op, {"x": real(2, 1, 4)}, ["s"], before=[constant("s", ints(2, 2, 3, 4) if op == "Expand" else ints(2, 1, 3))])
