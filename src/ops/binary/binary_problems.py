"""Problems of arithmetic, comparison and logic on several operands."""

from __future__ import annotations

import numpy as np

from draw import FLOATS, INTS, NUMBERS, array, broadcastable, makes, pick
from known import differs
from problem import ORT, Problem
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized
from versions import broadcast_along, form


@makes("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def binary(op, rng):
    dtype = pick(rng, NUMBERS)
    a, b = (array(rng, dtype, s) for s in broadcastable(rng, 2))
    if op == "Div" and np.dtype(dtype).kind in "iu":
        b = np.where(b == 0, 1, b).astype(dtype)
        if np.dtype(dtype).kind == "i":
            b = np.where(b == -1, 3, b).astype(dtype)
    return Problem(op, [a, b])


@makes("And", "Or", "Xor")
def logical(op, rng):
    return Problem(op, [array(rng, bool, s) for s in broadcastable(rng, 2)])


@makes("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(op, rng):
    dtype = pick(rng, INTS)
    return Problem(op, [array(rng, dtype, s) for s in broadcastable(rng, 2)])


@makes("BitShift")
def bit_shift(op, rng):
    dtype = pick(rng, [np.uint8, np.uint16, np.uint32, np.uint64])
    a, b = (array(rng, dtype, s, 0.5, 0, 4) for s in broadcastable(rng, 2))
    return Problem(op, [a, b % np.dtype(dtype).type(8)], {"direction": pick(rng, ["LEFT", "RIGHT"])})


@makes("Mod")
def mod(op, rng):
    dtype = pick(rng, NUMBERS)
    a, b = (array(rng, dtype, s, 0.2) for s in broadcastable(rng, 2))
    b = np.where(b == 0, 1, b).astype(dtype) if np.dtype(dtype).kind in "iu" else b
    return Problem(op, [a, b], {"fmod": 1 if np.dtype(dtype).kind == "f" else int(rng.integers(2))})


@makes("Pow")
def power(op, rng):
    base, exponent = pick(rng, [np.float32, np.float64, np.int32, np.int64]), pick(rng, [np.float32, np.int32, np.int64, np.float64])
    a, b = broadcastable(rng, 2)
    return Problem(op, [array(rng, base, a, 0.2), array(rng, exponent, b, 0.2 if exponent in FLOATS else 0, 0 if base in INTS else -1, 1)])


@makes("Max", "Min", "Sum", "Mean")
def variadic(op, rng):
    dtype = pick(rng, FLOATS[:2] if op in ("Sum", "Mean") else NUMBERS)
    return Problem(op, [array(rng, dtype, s) for s in broadcastable(rng, rng.integers(1, 4))])


@form("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
def broadcast_is_asked_for(q, since):
    return broadcast_along(q, q.inputs[0].shape, 1) if since < 7 else None


@form("Max", "Min", "Sum", "Mean")
def equal_shapes(q, since):
    if since < 8:
        q.inputs = [np.array(v) for v in np.broadcast_arrays(*q.inputs)]


sized(TERMS, "Mean Sum")
held_to(0, "Add Div Mod Mul Sub")
held_to(2, "Mean Pow Sum")

differs("Pow", ORT, "integers that overflow", lambda p: p.inputs[0].dtype.kind == "i", "goes through floating point")
differs("Mod", ORT, "fmod of 64-bit integers", lambda p: p.inputs[0].dtype.itemsize == 8, "goes through floating point")

SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (2, 2)), ((2, 1), (2, 1))]


@slopes("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean")
def derivatives(op):
    """Broadcast operands get sums."""
    for shapes in SHAPES:
        low = 0.3 if op in ("Div", "Pow") else -2
        a, b = (real(*s, seed=i, low=low) for i, s in enumerate(shapes))
        for symbolic in (False, True):
            yield one(op, {"a": a, "b": b}, symbolic=symbolic)
