"""Problems of TopK."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, i64, makes, maybe_constant, pick, shape
from known import differs, has_nan
from problem import ORT, Problem, rare_numbers
from versions import form, inputs_since, places_from_the_front


@makes("TopK")
def top_k(op, rng):
    s = shape(rng, 1, 3, 0.1, 9)
    axis = axis_of(rng, len(s))
    x = array(rng, pick(rng, [np.float32, np.float64, np.int32, np.int64]), s, 0, -1, 1)
    k = int(rng.integers(0, s[axis] + 1))
    return Problem(op, [x, i64([k])], {"axis": axis, "largest": int(rng.integers(2)), "sorted": 1}, 2, pick(rng, [11, 23]), maybe_constant(rng, 1))


rare_numbers("TopK")

inputs_since(10, "TopK", "k")


@form("TopK")
def greatest_first(q, since):
    return since >= 11 or q.attributes["largest"] == 1


places_from_the_front("TopK")

differs("TopK", ORT, "NaN", has_nan, "NaN comes first or not, as the shape has it; here it is the greatest, as in NumPy")
