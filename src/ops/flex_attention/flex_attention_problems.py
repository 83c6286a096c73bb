"""Problems of FlexAttention."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes
from problem import Problem
from tolerances import LARGEST, held_to, sized


@makes("FlexAttention")
def flex_attention(op, rng):
    batch, groups, shared, length, total, size, value = (int(rng.integers(1, 4)) for _ in range(7))
    q = array(rng, np.float32, (batch, groups * shared, length, size), 0, -1, 1)
    k, v = (array(rng, np.float32, (batch, groups, total, n), 0, -1, 1) for n in (size, value))
    return Problem(op, [q, k, v], {"scale": float(rng.uniform(0.1, 1))} if chance(rng, 0.5) else {}, opset=1, domain="ai.onnx.preview")


sized(LARGEST, "FlexAttention")
held_to(8, "FlexAttention")
