"""Problems of reductions."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, i64, makes, maybe_constant, pick, shape
from known import differs, has_nan, not_finite
from problem import ORT, REFERENCE, Problem
from slopes import constant, one, real, slopes
from tolerances import ONE, TERMS, held_to, sized
from versions import INPUTS_SINCE, form, inputs_since, places_from_the_front

REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()


@makes(*("Reduce" + name for name in REDUCTIONS))
def reduce(op, rng):
    dtypes = [np.float32] * 4 + [np.float64, np.int32, np.int64]
    if op in ("ReduceMax", "ReduceMin"):
        dtypes += [np.int8, np.uint8, bool]
    s, opset = shape(rng, largest=9), pick(rng, [11, 13, 18, 20, 23])
    dtype = pick(rng, dtypes)
    if (opset < 20 and dtype is bool) or (opset < 12 and dtype in (np.int8, np.uint8)):
        dtype = np.float32
    axes = sorted({axis_of(rng, len(s)) % len(s) for _ in range(rng.integers(0, 3))}) if s else []
    axes = [a - len(s) if chance(rng, 0.4) else a for a in axes]
    low = 0.1 if "Log" in op and "Exp" not in op else -2
    special = 0.15 if op in ("ReduceMax", "ReduceMin") else 0  # sums of infinities depend on their order
    x, attributes = array(rng, dtype, s, special, low, 2), {"keepdims": int(rng.integers(2))}
    by_input = opset >= 18 or (op == "ReduceSum" and opset >= 13)
    if by_input:
        attributes["noop_with_empty_axes"] = int(chance(rng, 0.3))
        given = [x] + ([i64(axes)] if axes or chance(rng, 0.5) else [])
        return Problem(op, given, attributes, opset=opset, constant=maybe_constant(rng, *range(1, len(given))))
    if axes:
        attributes["axes"] = axes
    return Problem(op, [x], attributes, opset=opset)


@form(*("Reduce" + name for name in REDUCTIONS))
def nothing_is_all_axes(q, since):
    given = len(q.inputs) > 1 and q.inputs[1] is not None and q.inputs[1].size
    if q.attributes.get("noop_with_empty_axes") and not given and since < INPUTS_SINCE[q.op]:
        return False
    if since < INPUTS_SINCE[q.op]:
        q.attributes.pop("noop_with_empty_axes", None)
    return None


inputs_since(13, "ReduceSum", "axes")
inputs_since(18, " ".join(f"Reduce{name}" for name in REDUCTIONS[1:]), "axes")
places_from_the_front(" ".join(f"Reduce{name}" for name in REDUCTIONS))

sized(TERMS, "ReduceMean ReduceSum")
sized(ONE, "ReduceLogSum ReduceLogSumExp")
held_to(2, "ReduceL1 ReduceL2 ReduceMean ReduceProd ReduceSum ReduceSumSquare")

differs("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare", ORT, "a size is 0", lambda p: 0 in p.inputs[0].shape,
        "the axis that is reduced stays in its shape; the standard drops it, or makes it 1")  # fmt: skip
differs("ReduceMax ReduceMin", ORT, "NaN", has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy")
differs("ReduceSumSquare", REFERENCE, "integers", lambda p: p.inputs[0].dtype.kind in "iu", "gives int64 for int32")
differs("ReduceMean", REFERENCE, "the mean of no integers", lambda p: 0 in p.inputs[0].shape, "0/0 is not defined for them")
differs("ReduceProd ReduceSum ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp", ORT, "integers", lambda p: p.inputs[0].dtype.kind in "iu",
        "saturates in some shapes, and cuts each exponential")  # fmt: skip
differs("ReduceLogSumExp", REFERENCE, "infinities", not_finite, "NaN from 0 times infinity, or infinity less infinity")


@slopes(*"ReduceSum ReduceMean ReduceMax ReduceMin ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp".split())
def derivatives(op):
    x = {"x": real(2, 3, 4, low=0.3)}
    for keepdims in (0, 1):
        yield one(op, x, keepdims=keepdims)
        for axes in ([0], [-1, 0], [1]):
            yield one(op, x, ["axes"], before=[constant("axes", np.array(axes, np.int64))], keepdims=keepdims)
            yield one(op, x, opset=11, keepdims=keepdims, axes=axes)  # as an attribute, in an older version
