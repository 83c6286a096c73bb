"""Problems of GridSample."""

from __future__ import annotations

import numpy as np

from draw import array, makes, pick
from known import attribute, differs, not_finite
from problem import ORT, REFERENCE, Problem, batch_axes, rare_numbers
from tolerances import INPUTS, held_to, sized
from versions import form


@makes("GridSample")
def grid_sample(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    grid = array(rng, np.float32, (n, int(rng.integers(1, 5)), int(rng.integers(1, 5)), 2), 0, -1.4, 1.4)
    return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), grid],
                   {"mode": pick(rng, ["linear", "nearest", "cubic"]), "padding_mode": pick(rng, ["zeros", "border", "reflection"]),
                    "align_corners": int(rng.integers(2))}, opset=20)  # fmt: skip


rare_numbers("GridSample")
batch_axes("GridSample", (0, 0), (1, 0))


@form("GridSample")
def names_in_two_dimensions(q, since):
    if since < 20:
        q.attributes["mode"] = {"linear": "bilinear", "cubic": "bicubic"}.get(q.attributes["mode"], q.attributes["mode"])


sized(INPUTS, "GridSample")
held_to(16, "GridSample")

differs("GridSample", ORT, "NaN or infinities", not_finite, "leaves out neighbors of weight 0")
differs("GridSample", REFERENCE, "cubic with padding_mode border", lambda p: attribute(p, "mode") in ("cubic", "bicubic") and attribute(p, "padding_mode") == "border",
        "puts the place itself on the border; PyTorch and ONNX Runtime put each neighbor there")  # fmt: skip
