"""Problems of Conv."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant
from known import differs, not_finite
from problem import REFERENCE, Problem, batch_axes, rare_numbers
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized
from windows import spatial, window


@makes("Conv")
def conv(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    group = int(rng.integers(1, 4))
    c, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x = array(rng, np.float32, (int(rng.integers(1, 3)), group * c, *sizes), 0, -1, 1)
    w = array(rng, np.float32, (group * m, c, *attributes["kernel_shape"]), 0, -1, 1)
    given = [x, w] + ([array(rng, np.float32, (group * m,), 0)] if chance(rng, 0.5) else [])
    return Problem(op, given, {**attributes, "group": group}, opset=22, constant=maybe_constant(rng, *range(1, len(given))))


rare_numbers("Conv")
batch_axes("Conv", (0, 0))

sized(TERMS, "Conv")
held_to(2, "Conv")

differs("Conv", REFERENCE, "NaN or infinities", not_finite, "multiplies them with the zeros between dilated weights")

CONVOLUTIONS = [
    ((2, 3, 7), (4, 3, 3), {}),
    ((1, 2, 6, 7), (3, 2, 3, 2), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
    ((2, 4, 8, 6), (6, 2, 3, 3), {"group": 2, "dilations": [2, 1], "strides": [1, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 9), (3, 1, 2), {"group": 3, "strides": [4]}),
    ((1, 1, 4, 4, 3), (2, 1, 2, 2, 2), {"auto_pad": "VALID"}),
]


@slopes("Conv")
def derivative(op):
    for x, w, attributes in CONVOLUTIONS:
        yield one(op, {"x": real(*x), "w": real(*w, seed=1), "b": real(w[0], seed=2)}, **attributes)
