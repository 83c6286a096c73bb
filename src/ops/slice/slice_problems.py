"""Problems of Slice."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant, pick, shape
from known import differs, given
from problem import ORT, REFERENCE, Problem
from slopes import constant, ints, one, real, slopes
from versions import again, form, inputs_since, places_from_the_front


@makes("Slice")
def slice_(op, rng):
    s = shape(rng, 1, 4)
    axes = rng.permutation(len(s))[: rng.integers(1, len(s) + 1)]
    bounds = [-(2**63), 2**63 - 1, -100, 100] + list(range(-6, 7))
    index = pick(rng, [np.int64, np.int32])
    bounds = [max(min(b, np.iinfo(index).max), np.iinfo(index).min) for b in bounds]
    given = [array(rng, pick(rng, [np.float32, np.int64, object]), s)]
    given += [np.array([pick(rng, bounds) for _ in axes], index) for _ in range(2)]
    signed = np.array([int(a) - (len(s) if chance(rng, 0.4) else 0) for a in axes], index)
    given += [signed, np.array([pick(rng, [1, 2, -1, -2, 3, np.iinfo(index).max, np.iinfo(index).min + 1]) for _ in axes], index)]
    return Problem(op, given, opset=13, constant=maybe_constant(rng, 1, 2, 3, 4))


@form("Slice")
def steps_of_one(q, since):
    if since < 10:
        again(q, inputs=[*q.inputs[:4], np.ones_like(q.inputs[4])])


inputs_since(10, "Slice", "starts", "ends", "axes")
places_from_the_front("Slice")


def _backwards(p):
    """Slice by a negative step."""
    return given(p, 4) and bool((p.inputs[4] < 0).any()) or len(p.inputs) == 1


differs("Slice", REFERENCE, "a negative step that starts before the first element", _backwards, "the standard clamps the start to 0, NumPy to -1")
differs("Slice", ORT, "a negative step with an end of INT_MAX", _backwards, "the standard clamps the end to the last element")


@slopes("Slice")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    bounds = [constant("b", ints(-1, 2)), constant("e", ints(-9, 3)), constant("a", ints(2, 0)), constant("s", ints(-2, 1))]
    yield one(op, x, ["b", "e", "a", "s"], before=bounds)
