"""Problems of functions of one operand."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh

from draw import INTS, SMALL, array, makes, pick, shape
from known import differs, has_nan
from problem import ORT, REFERENCE, Problem
from slopes import Slope, one, real, slopes
from tolerances import held_to, looser


@makes(*"Abs Neg Sign Ceil Floor Round Sqrt Exp Log Reciprocal Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh IsNaN Not BitwiseNot".split())
def unary(op, rng):
    dtype = {"Not": bool, "BitwiseNot": pick(rng, INTS)}.get(op) or pick(
        rng, SMALL if op in ("Abs", "Neg", "Sign") else [np.float32] * 3 + [np.float64, np.float16]
    )
    if op == "Neg" and np.dtype(dtype).kind == "u":
        dtype = np.int8
    return Problem(op, [array(rng, dtype, shape(rng, largest=20))])


@makes("IsInf")
def is_inf(op, rng):
    return Problem(op, [array(rng, pick(rng, [np.float32, np.float64]), shape(rng), 1)],
                   {"detect_negative": int(rng.integers(2)), "detect_positive": int(rng.integers(2))})  # fmt: skip


held_to(0, "Reciprocal Sqrt")
held_to(2, "Acosh Asinh Atan Atanh Cosh Exp Log Sinh Tan")
looser("Cos Sin Tanh", ORT, 8, "formulas for many numbers at a time, which are right beside 1, not beside numbers near 0", of_one=True)
looser("Erf", REFERENCE, 4, "constants and tables of float, for double too", as_float=True, of_one=True)

differs("Sign", ORT, "float16 NaN", has_nan, "0 in one type, NaN in others")

RANGES = {
    **dict.fromkeys("Abs Asinh Atan Cos Cosh Erf Exp Neg Sin Sinh Tanh".split(), (-2, 2)),
    **dict.fromkeys("Acos Asin Atanh".split(), (-0.85, 0.85)),
    **dict.fromkeys("Log Sqrt Reciprocal".split(), (0.3, 3)),
    "Acosh": (1.2, 3),
    "Tan": (-1.2, 1.2),
}


@slopes(*RANGES)
def derivatives(op):
    low, high = RANGES[op]
    yield one(op, {"x": real(3, 7, low=low, high=high)}, opset=28)


@slopes("Ceil", "Floor", "Round", "Sign")
def steps_have_no_slope(op):
    yield Slope([oh.make_node(op, ["x"], ["s"]), oh.make_node("Mul", ["s", "x"], ["y"])], {"x": real(8)})
