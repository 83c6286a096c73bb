"""Problems of DepthToSpace and SpaceToDepth."""

from __future__ import annotations

import numpy as np

from draw import MOVED, array, makes, pick, shape
from problem import Problem
from slopes import one, real, slopes


@makes("DepthToSpace", "SpaceToDepth")
def space(op, rng):
    array(rng, pick(rng, MOVED), shape(rng, 1, 4))  # so that a seed gives the problems that it always gave
    b = int(rng.integers(1, 4))
    n, h, w = (int(rng.integers(1, 4)) for _ in range(3))
    dtype = pick(rng, [np.float32, np.float64])
    if op == "DepthToSpace":
        return Problem(op, [array(rng, dtype, (1, n * b * b, h, w))], {"blocksize": b, "mode": pick(rng, ["DCR", "CRD"])}, opset=13)
    return Problem(op, [array(rng, dtype, (1, n, h * b, w * b))], {"blocksize": b}, opset=13)


@slopes("DepthToSpace", "SpaceToDepth")
def derivatives(op):
    yield one(op, {"x": real(1, 4, 2, 3) if op == "DepthToSpace" else real(1, 2, 4, 2)}, blocksize=2)
