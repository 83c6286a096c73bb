"""Problems of what gives the same elements another shape."""

from __future__ import annotations

import numpy as np

from draw import INTS, MOVED, SMALL, array, chance, i64, makes, maybe_constant, pick, shape
from known import differs
from problem import ORT, Problem
from slopes import constant, ints, one, real, slopes
from versions import form, inputs_since, places_from_the_front


@makes("Identity")
def identity(op, rng):
    pick(rng, INTS)  # so that a seed gives the problems that it always gave
    dtype = pick(rng, SMALL)
    return Problem(op, [array(rng, dtype, shape(rng, largest=20))])


@makes("Reshape", "Squeeze", "Unsqueeze", "Flatten")
def reshape(op, rng):
    dtype = pick(rng, MOVED)
    s = shape(rng, 1 if op == "Squeeze" else 0, 4)
    x = array(rng, dtype, s)
    if op == "Reshape":
        x = array(rng, dtype, s)
        target = [int(np.prod(s[: len(s) // 2])), int(np.prod(s[len(s) // 2 :]))] if chance(rng, 0.5) else list(s)
        if target and chance(rng, 0.4):
            at = rng.integers(len(target))
            target[at] = -1 if np.prod(target[:at] + target[at + 1 :]) else target[at]
        for i, d in enumerate(target):
            if i < len(s) and d == s[i] and chance(rng, 0.2):
                target[i] = 0
        return Problem(op, [x, i64(target)], {"allowzero": int(0 in target and 0 in s and -1 not in target)}, opset=14, constant=maybe_constant(rng, 1))
    if op == "Squeeze":
        s = tuple(1 if chance(rng, 0.5) else d for d in s)
        ones = [a - (len(s) if chance(rng, 0.4) else 0) for a, d in enumerate(s) if d == 1]
        given = [array(rng, dtype, s)] + ([] if chance(rng, 0.3) else [i64(ones[: rng.integers(0, len(ones) + 1)])])
        return Problem(op, given, opset=13, constant=maybe_constant(rng, *range(1, len(given))))
    if op == "Unsqueeze":
        count = int(rng.integers(0, 3))
        axes = rng.permutation(len(s) + count)[:count]
        return Problem(op, [x, i64([int(a) - (len(s) + count if chance(rng, 0.4) else 0) for a in axes])], opset=13, constant=maybe_constant(rng, 1))
    return Problem(op, [x], {"axis": int(rng.integers(-len(s), len(s) + 1))}, opset=13)


@form("Reshape")
def some_sizes(q, since):
    return since >= 5 or q.inputs[1].size > 0


inputs_since(5, "Reshape", "shape")


@form("Squeeze")
def axes_left_out(q, since):
    return since >= 13 or len(q.inputs) == 1 or q.inputs[1].size > 0


@form("Unsqueeze")
def some_axes(q, since):
    return since >= 13 or q.inputs[1].size > 0


inputs_since(13, "Squeeze Unsqueeze", "axes")

places_from_the_front("Flatten Squeeze")
places_from_the_front("Unsqueeze", more_axes=lambda q: len(q.attributes["axes"]))

differs("Squeeze", ORT, "axes given, and empty", lambda p: len(p.inputs) > 1 and p.inputs[1].size == 0, "takes them for left out")


@slopes("Identity")
def derivative_of_identity(op):
    yield one(op, {"x": real(3, 7)}, opset=28)


@slopes("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def derivatives(op):
    x, given = {"x": real(2, 1, 4)}, {"Reshape": ints(4, -1), "Squeeze": ints(1), "Unsqueeze": ints(0, 3)}
    yield one(op, x, axis=2) if op == "Flatten" else one(op, x, ["s"], before=[constant("s", given[op])])
