"""Problems of Gemm."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant, pick
from known import differs
from problem import ORT, Problem, rare_numbers
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized
from versions import broadcast_along, form


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


rare_numbers("Gemm")


@form("Gemm")
def broadcast_of_c(q, since):
    if since < 7 and len(q.inputs) > 2:
        (m, n) = (q.inputs[i].shape[axis ^ q.attributes[flag]] for i, axis, flag in ((0, 0, "transA"), (1, 1, "transB")))
        return broadcast_along(q, (m, n), 2, axis_too=False)
    return None


sized(TERMS, "Gemm")
held_to(2, "Gemm")

differs("Gemm", ORT, "nothing to add up", lambda p: 0 in p.inputs[0].shape or 0 in p.inputs[1].shape, "leaves memory as it was, or forgets beta")


@slopes("Gemm")
def derivative(op):
    for ta, tb in ((0, 0), (0, 1), (1, 0), (1, 1)):
        a, b = real(2, 3), real(3, 4, seed=1)
        values = {"a": a.T.copy() if ta else a, "b": b.T.copy() if tb else b, "c": real(4, seed=2)}
        yield one(op, values, alpha=0.5, beta=1.5, transA=ta, transB=tb)
