"""Problems of Shape and Size."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, shape
from known import attribute, differs
from problem import REFERENCE, Problem


@makes("Shape", "Size")
def sizes(op, rng):
    s = shape(rng, 0, 4)
    if op == "Shape":
        attributes = {k: int(rng.integers(-6, 7)) for k in ("start", "end") if chance(rng, 0.6)}
        return Problem(op, [array(rng, np.float32, s)], attributes, opset=15)
    return Problem(op, [array(rng, np.float32, s)], opset=13)


differs("Shape", REFERENCE, "end before 0", lambda p: attribute(p, "end", 0) < 0, "the standard clamps it to 0, Python counts from the end")
