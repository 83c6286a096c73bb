"""Problems of CenterCropPad."""

from __future__ import annotations

import numpy as np

from draw import array, i64, makes, maybe_constant, shape
from problem import Problem
from slopes import constant, ints, one, real, slopes


@makes("CenterCropPad")
def center_crop_pad(op, rng):
    s = shape(rng, 0, 4)
    axes = [int(a) for a in rng.permutation(len(s))[: rng.integers(0, len(s) + 1)]]
    if not axes:
        return center_crop_pad(op, rng)
    return Problem(op, [array(rng, np.float32, s), i64(rng.integers(1, 7, len(axes)))], {"axes": axes}, opset=18, constant=maybe_constant(rng, 1))


@slopes("CenterCropPad")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, ["s"], before=[constant("s", ints(2, 1, 6))])
