"""Problems of Det."""

from __future__ import annotations

import numpy as np

from draw import array, makes, pick, shape
from problem import Problem
from tolerances import held_to, sized


@makes("Det")
def det(op, rng):
    n = int(rng.integers(1, 5))
    return Problem(op, [array(rng, pick(rng, [np.float32, np.float64]), (*shape(rng, 0, 2), n, n), 0)], opset=22)


held_to(16, "Det")
sized("the product of the rows' lengths", "Det", lambda p, i, numbers: np.maximum(numbers, np.nan_to_num(np.linalg.norm(p.inputs[0].astype(np.float64), axis=-1).prod(-1))))
