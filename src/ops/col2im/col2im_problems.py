"""Problems of Col2Im."""

from __future__ import annotations

import numpy as np

from draw import array, i64, makes
from problem import Problem, rare_numbers
from tolerances import TERMS, held_to, sized


@makes("Col2Im")
def col2im(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    block, dilation, stride = ([int(rng.integers(1, 3)) for _ in range(2)] for _ in range(3))
    pads = [int(rng.integers(0, 2)) for _ in range(4)]
    image = [max(s, (k - 1) * d + 1) for s, k, d in zip((h, w), block, dilation)]
    places = [(s + pads[i] + pads[i + 2] - (block[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, s in enumerate(image)]
    x = array(rng, np.float32, (n, c * block[0] * block[1], places[0] * places[1]), 0)
    return Problem(op, [x, i64(image), i64(block)], {"dilations": dilation, "strides": stride, "pads": pads}, opset=18)


rare_numbers("Col2Im")

sized(TERMS, "Col2Im")
held_to(2, "Col2Im")
