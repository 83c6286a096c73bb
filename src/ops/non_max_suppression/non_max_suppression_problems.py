"""Problems of NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from draw import i64, makes
from problem import Problem


@makes("NonMaxSuppression")
def non_max_suppression(op, rng):
    n, c, *_ = (int(rng.integers(1, 6)) for _ in range(4))
    boxes, scores = rng.uniform(0, 1, (n, 6, 4)).astype(np.float32), rng.uniform(0, 1, (n, c, 6)).astype(np.float32)
    return Problem(op, [boxes, scores, i64([int(rng.integers(0, 5))]), np.array([rng.uniform(0, 1)], np.float32), np.array([rng.uniform(0, 1)], np.float32)],
                   {"center_point_box": int(rng.integers(2))}, opset=11)  # fmt: skip
