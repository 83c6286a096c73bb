"""Problems of Where."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh

from draw import NUMBERS, array, broadcastable, makes, pick
from problem import Problem
from slopes import Slope, constant, real, slopes


@makes("Where")
def where(op, rng):
    dtype = pick(rng, NUMBERS + [object])
    c, a, b = broadcastable(rng, 3)
    return Problem(op, [array(rng, bool, c), array(rng, dtype, a), array(rng, dtype, b)])


@slopes("Where")
def derivative(op):
    nodes = [constant("c", np.array([True, False, True])), oh.make_node(op, ["c", "a", "b"], ["y"])]
    yield Slope(nodes, {"a": real(2, 3), "b": real(1, seed=1)})
