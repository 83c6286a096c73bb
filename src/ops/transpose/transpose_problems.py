"""Problems of Transpose."""

from __future__ import annotations

from draw import MOVED, array, chance, makes, pick, shape
from problem import Problem
from slopes import one, real, slopes


@makes("Transpose")
def transpose(op, rng):
    dtype = pick(rng, MOVED)
    s = shape(rng, 0, 4)
    x = array(rng, dtype, s)
    return Problem(op, [x], {"perm": [int(a) for a in rng.permutation(len(s))]} if s and chance(rng, 0.8) else {})


@slopes("Transpose")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, perm=[2, 0, 1])
    yield one(op, x)
