"""Problems of AffineGrid."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, maybe_constant
from known import attribute, differs
from problem import ORT, Problem
from tolerances import LARGEST, held_to, sized


@makes("AffineGrid")
def affine_grid(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    three = chance(rng, 0.4)
    theta = array(rng, np.float32, (n, 3, 4) if three else (n, 2, 3), 0)
    size = i64([n, c, h, w] + ([3] if three else []))
    return Problem(op, [theta, size], {"align_corners": int(rng.integers(2))}, opset=20, constant=maybe_constant(rng, 1))


sized(LARGEST, "AffineGrid")
held_to(2, "AffineGrid")

differs("AffineGrid", ORT, "align_corners with a size of 1 in three dimensions", lambda p: attribute(p, "align_corners"), "divides by zero")
