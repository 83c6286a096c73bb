"""Problems of Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, makes, pick, shape
from known import differs, has_nan, not_finite
from problem import ORT, REFERENCE, Problem, rare_numbers
from slopes import one, real, slopes
from tolerances import ONE, held_to, sized
from versions import form, places_from_the_front


@makes("Softmax", "LogSoftmax", "Hardmax")
def softmax(op, rng):
    s = shape(rng, 2, 4, largest=9)
    return Problem(op, [array(rng, pick(rng, [np.float32] * 3 + [np.float64]), s, 0)],
                   {"axis": axis_of(rng, len(s))} if chance(rng, 0.8) else {}, opset=pick(rng, [11, 13]))  # fmt: skip


rare_numbers("Softmax LogSoftmax Hardmax")

places_from_the_front("Softmax LogSoftmax Hardmax")


@form("Softmax", "LogSoftmax", "Hardmax")
def everything_behind(q, since):
    """Another meaning until 13: one form does not stand for the other."""
    return (since < 13) == (q.newest.opset < 13)


sized(ONE, "LogSoftmax")
held_to(2, "LogSoftmax")

differs("Hardmax", ORT, "NaN", has_nan, "NaN wins or not; here it is the greatest, as in NumPy")
differs("Softmax LogSoftmax", ORT, "NaN or infinities", not_finite,
        "of an infinity among them makes infinities or NaN, as the type and the shape have it")  # fmt: skip
differs("Hardmax Softmax LogSoftmax", REFERENCE, "opset below 13", lambda p: p.opset < 13, "takes the meaning of version 13 for all")


@slopes("Softmax", "LogSoftmax")
def derivatives(op):
    for axis in (0, 1, -1):
        yield one(op, {"x": real(2, 3, 4)}, axis=axis)
    yield one(op, {"x": real(2, 3, 4)}, opset=11, axis=1)
