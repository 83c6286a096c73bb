"""Problems of DeformConv."""

from __future__ import annotations

import numpy as np

from draw import array, makes
from problem import Problem, batch_axes
from tolerances import LARGEST, held_to, sized


@makes("DeformConv")
def deform_conv(op, rng):
    c, m, size = int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(3, 6))
    x, w = array(rng, np.float32, (1, c, size, size), 0), array(rng, np.float32, (m, c, 2, 2), 0)
    offset = array(rng, np.float32, (1, 8, size - 1, size - 1), 0, -1, 1)
    return Problem(op, [x, w, offset], {"kernel_shape": [2, 2]}, opset=22)


batch_axes("DeformConv", (0, 0), (2, 0))

sized(LARGEST, "DeformConv")
held_to(4, "DeformConv")
