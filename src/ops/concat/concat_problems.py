"""Problems of Concat."""

from __future__ import annotations

from draw import MOVED, array, axis_of, makes, pick, shape
from problem import Problem
from slopes import one, real, slopes
from versions import places_from_the_front


@makes("Concat")
def concat(op, rng):
    dtype = pick(rng, MOVED)
    s = shape(rng, 1, 4)
    array(rng, dtype, s)  # so that a seed gives the problems that it always gave
    axis = axis_of(rng, len(s))
    parts = [array(rng, dtype, tuple(int(rng.integers(0, 4)) if a == axis % len(s) else d for a, d in enumerate(s))) for _ in range(rng.integers(1, 4))]
    return Problem(op, parts, {"axis": axis}, opset=13)


places_from_the_front("Concat")


@slopes("Concat")
def derivative(op):
    for symbolic in (False, True):
        yield one(op, {"a": real(2, 3), "b": real(2, 1, seed=1), "c": real(2, 2, seed=2)}, symbolic=symbolic, axis=-1)
