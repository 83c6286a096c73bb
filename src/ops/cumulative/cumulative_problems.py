"""Problems of CumSum and CumProd."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, makes, pick, shape
from problem import Problem, rare_numbers
from slopes import constant, one, real, slopes
from tolerances import TERMS, sized


@makes("CumSum")
def cum_sum(op, rng):
    s = shape(rng, 1, 4)
    index = np.array(axis_of(rng, len(s)), pick(rng, [np.int32, np.int64]))
    return Problem(op, [array(rng, pick(rng, [np.float32, np.float64, np.int32, np.int64]), s, 0), index],
                   {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}, opset=14)  # fmt: skip


@makes("CumProd")
def cum_prod(op, rng):
    s = shape(rng, 1, 4)
    return Problem(op, [array(rng, np.float32, s, 0), np.array(axis_of(rng, len(s)), np.int64)],
                   {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}, opset=26)  # fmt: skip


rare_numbers("CumSum CumProd")

sized(TERMS, "CumSum")


@slopes("CumSum")
def derivative(op):
    for attributes in ({}, {"reverse": 1}, {"exclusive": 1}, {"reverse": 1, "exclusive": 1}):
        yield one(op, {"x": real(2, 4)}, ["axis"], before=[constant("axis", np.int64(1))], **attributes)
