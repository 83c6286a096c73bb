"""Problems of ArgMax and ArgMin."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, makes, pick, shape
from known import differs, has_nan
from problem import ORT, Problem, rare_numbers
from versions import places_from_the_front


@makes("ArgMax", "ArgMin")
def arg_reduce(op, rng):
    s = shape(rng, 1, 4, 0)
    x = array(rng, pick(rng, [np.float32, np.float64, np.int32, np.uint8, np.int8]), s, 0, -1, 1)
    return Problem(op, [x], {"axis": axis_of(rng, len(s)), "keepdims": int(rng.integers(2)), "select_last_index": int(rng.integers(2))}, opset=13)


rare_numbers("ArgMax ArgMin")

places_from_the_front("ArgMax ArgMin")

differs("ArgMax ArgMin", ORT, "NaN", has_nan, "NaN wins or not, as the shape has it; here it does, as in NumPy")
