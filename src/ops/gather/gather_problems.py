"""Problems of Gather, GatherElements and GatherND."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, makes, maybe_constant, pick, shape
from known import differs
from problem import ORT, Problem
from slopes import constant, one, real, slopes
from versions import places_from_the_front


@makes("Gather", "GatherElements", "GatherND")
def gather(op, rng):
    dtype = pick(rng, [np.float32, np.int64, np.uint8, object, bool])
    s = shape(rng, 1, 4, 0)
    x = array(rng, dtype, s)
    axis, index = axis_of(rng, len(s)), pick(rng, [np.int32, np.int64])
    if op == "GatherND":
        batch = int(rng.integers(0, len(s)))
        last = int(rng.integers(1, len(s) - batch + 1))
        middle = shape(rng, 0, 2)
        indices = np.stack([rng.integers(-d, d, (*s[:batch], *middle)) for d in s[batch : batch + last]], -1)
        return Problem(op, [x, indices.astype(np.int64)], {"batch_dims": batch})
    if op == "GatherElements":
        counts = [int(rng.integers(0 if chance(rng, 0.1) else 1, d + 1)) for d in s]
        return Problem(op, [x, rng.integers(-s[axis], s[axis], counts).astype(index)], {"axis": axis})
    return Problem(op, [x, rng.integers(-s[axis], s[axis], shape(rng, 0, 3)).astype(index)], {"axis": axis}, constant=maybe_constant(rng, 1))


places_from_the_front("Gather", indices=True)

differs("Gather", ORT, "strings", lambda p: p.inputs[0].dtype.kind == "O", "leaves most of a string output empty with a scalar index")


@slopes("Gather", "GatherElements", "GatherND")
def derivatives(op):
    indices = {"Gather": [[2, 0], [2, -1]], "GatherElements": [[[0, 1]], [[1, 1]]], "GatherND": [[1, 0], [1, 0], [0, 0]]}[op]
    attributes = {} if op == "GatherND" else {"axis": 2}
    yield one(op, {"x": real(2, 1, 4)}, ["i"], before=[constant("i", np.array(indices))], **attributes)
