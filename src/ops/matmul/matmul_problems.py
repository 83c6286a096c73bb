"""Problems of MatMul."""

from __future__ import annotations

import numpy as np

from draw import array, broadcastable, chance, makes, maybe_constant, pick
from known import differs
from problem import ORT, Problem, rare_numbers
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized


@makes("MatMul")
def matmul(op, rng):
    dtype = pick(rng, [np.float32] * 3 + [np.float64, np.int32, np.int64, np.uint32])
    m, k, n = (int(rng.integers(0 if chance(rng, 0.1) else 1, 9)) for _ in range(3))
    a, b = broadcastable(rng, 2, 0.05)
    a, b = a[-2:], b[-2:]
    left, right = ((k,) if chance(rng, 0.2) else (*a, m, k)), ((k,) if chance(rng, 0.2) else (*b, k, n))
    return Problem(op, [array(rng, dtype, left, 0), array(rng, dtype, right, 0)], constant=maybe_constant(rng, 1))


rare_numbers("MatMul")

sized(TERMS, "MatMul")
held_to(2, "MatMul")

differs("MatMul", ORT, "nothing to add up", lambda p: 0 in p.inputs[0].shape or 0 in p.inputs[1].shape, "leaves memory as it was, or forgets beta")

MATRICES = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,))]


@slopes("MatMul")
def derivative(op):
    for shapes in MATRICES:
        a, b = (real(*s, seed=i) for i, s in enumerate(shapes))
        for symbolic in (False, True):
            yield one(op, {"a": a, "b": b}, symbolic=symbolic)
