"""Problems of ReverseSequence."""

from __future__ import annotations

import numpy as np

from draw import array, i64, makes, shape
from problem import Problem
from slopes import constant, ints, one, real, slopes


@makes("ReverseSequence")
def reverse_sequence(op, rng):
    s = (int(rng.integers(1, 5)), int(rng.integers(1, 5)), *shape(rng, 0, 2, 0))
    batch = int(rng.integers(2))
    lengths = i64(rng.integers(1, s[1 - batch] + 1, s[batch]))
    return Problem(op, [array(rng, np.float32, s), lengths], {"batch_axis": batch, "time_axis": 1 - batch})


@slopes("ReverseSequence")
def derivative(op):
    x = {"x": real(2, 1, 4)}
    yield one(op, x, ["n"], before=[constant("n", ints(2))])
