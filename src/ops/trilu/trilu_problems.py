"""Problems of Trilu."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, pick, shape
from problem import Problem
from slopes import one, real, slopes


@makes("Trilu")
def trilu(op, rng):
    k = np.array(int(rng.integers(-6, 7)), np.int64)
    return Problem(op, [array(rng, pick(rng, [np.float32, np.int64, bool]), shape(rng, 2, 4)), *([k] if chance(rng, 0.7) else [])], {"upper": int(rng.integers(2))})


@slopes("Trilu")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, upper=0)
