"""Problems of RoiAlign."""

from __future__ import annotations

import numpy as np

from draw import array, i64, makes, pick
from problem import Problem, rare_numbers
from tolerances import INPUTS, held_to, sized
from versions import form


@makes("RoiAlign")
def roi_align(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    boxes = np.sort(rng.uniform(-1, 8, (3, 2, 2)), axis=1).reshape(3, 4).astype(np.float32)
    return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), boxes, i64(rng.integers(0, n, 3))],
                   {"output_height": 2, "output_width": int(rng.integers(1, 4)), "sampling_ratio": int(rng.integers(0, 3)),
                    "mode": pick(rng, ["avg", "max"]), "spatial_scale": float(pick(rng, [1.0, 0.5])),
                    "coordinate_transformation_mode": pick(rng, ["half_pixel", "output_half_pixel"])}, opset=16)  # fmt: skip


rare_numbers("RoiAlign")


@form("RoiAlign")
def corners_of_pixels(q, since):
    return since >= 16 or q.attributes.pop("coordinate_transformation_mode") == "output_half_pixel"


sized(INPUTS, "RoiAlign")
held_to(8, "RoiAlign")
