"""Problems of Split."""

from __future__ import annotations

import onnx.helper as oh

from draw import MOVED, array, axis_of, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem
from slopes import Slope, constant, ints, real, slopes
from versions import form, inputs_since, places_from_the_front


@makes("Split")
def split(op, rng):
    dtype = pick(rng, MOVED)
    s = shape(rng, 1, 4)
    x = array(rng, dtype, s)
    axis = axis_of(rng, len(s))
    if chance(rng, 0.5):
        n = int(rng.integers(1, max(s[axis], 1) + 1))
        return Problem(op, [x], {"axis": axis, "num_outputs": n}, n, 18)
    cut = int(rng.integers(0, s[axis] + 1))
    return Problem(op, [x, i64([cut, s[axis] - cut])], {"axis": axis}, 2, 18, maybe_constant(rng, 1))


@form("Split")
def equal_parts(q, since):
    if since < 18 and "num_outputs" in q.attributes:
        if q.inputs[0].shape[q.attributes["axis"]] % q.attributes.pop("num_outputs"):
            return False
    return None


inputs_since(13, "Split", "split")
places_from_the_front("Split")


@slopes("Split")
def derivative(op):
    nodes = [
        constant("sizes", ints(1, 3, 2)),
        oh.make_node(op, ["x", "sizes"], ["first", "", "last"], axis=1),
        oh.make_node("Transpose", ["first"], ["turned_"], perm=[1, 0]),
        oh.make_node("Concat", ["turned_", "turned_"], ["turned"], axis=0),
        oh.make_node("MatMul", ["last", "turned"], ["y"]),
    ]
    for symbolic in (False, True):
        yield Slope(nodes, {"x": real(2, 6)}, symbolic=symbolic)
