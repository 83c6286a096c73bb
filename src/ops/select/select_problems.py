"""Problems of Compress, NonZero and Unique."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, makes, pick, shape
from known import attribute, differs
from problem import REFERENCE, Problem
from slopes import constant, one, real, slopes
from versions import places_from_the_front


@makes("Compress")
def compress(op, rng):
    dtype = pick(rng, [np.float32, np.int64, np.uint8, object, bool])
    s = shape(rng, 1, 4, 0)
    x = array(rng, dtype, s)
    axis = axis_of(rng, len(s))
    pick(rng, [np.int32, np.int64])  # so that a seed gives the problems that it always gave
    attributes = {"axis": axis} if chance(rng, 0.6) else {}
    length = s[axis] if attributes else x.size
    return Problem(op, [x, rng.integers(0, 2, rng.integers(1, length + 1)).astype(bool)], attributes)


@makes("NonZero", "Unique")
def arrangement(op, rng):
    if op == "NonZero":
        return Problem(op, [np.where(rng.random(s := shape(rng, 1, 4)) < 0.5, 0, array(rng, np.float32, s, 0)).astype(pick(rng, [np.float32, bool, np.int64]))])
    s = shape(rng, 1, 3, 0)
    x = rng.integers(0, 3, s).astype(pick(rng, [np.float32, np.int64, np.int8]))
    return Problem(op, [x], {"sorted": int(rng.integers(2)), **({"axis": axis_of(rng, len(s))} if chance(rng, 0.6) else {})}, int(rng.integers(1, 5)))


places_from_the_front("Compress")

differs("Unique", REFERENCE, "sorted = 0", lambda p: not attribute(p, "sorted", 1), "is not in the order of first occurrence")


@slopes("Compress")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, ["c"], before=[constant("c", np.array([True, False, False, True]))], axis=2)
