"""Elementwise operators, reductions, casts."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.helper as oh

from draw import FLOATS, INTS, NUMBERS, SMALL, array, axis_of, broadcastable, chance, i64, makes, maybe_constant, pick, shape
from problem import Problem


@makes(*"Abs Neg Sign Ceil Floor Round Sqrt Exp Log Reciprocal Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh "
       "Sigmoid Relu LeakyRelu Elu Selu Softplus Softsign HardSigmoid HardSwish ThresholdedRelu Celu Mish Gelu IsNaN "
       "Shrink Identity Not BitwiseNot".split())  # fmt: skip
def unary(op, rng):
    dtype = {"Not": bool, "BitwiseNot": pick(rng, INTS)}.get(op) or pick(
        rng, SMALL if op in ("Abs", "Neg", "Sign", "Identity", "Shrink") else [np.float32] * 3 + [np.float64, np.float16]
    )
    if op == "Celu":
        dtype = np.float32
    if op == "Neg" and np.dtype(dtype).kind == "u":
        dtype = np.int8
    attributes = {}
    if op in ("LeakyRelu", "Elu", "ThresholdedRelu", "Celu") and chance(rng, 0.5):
        attributes["alpha"] = float(pick(rng, [0.3, 1.0, 2.0]))
    if op == "Gelu":
        attributes["approximate"] = pick(rng, ["none", "tanh"])
    if op == "Shrink":
        attributes = {"lambd": float(pick(rng, [0.0, 0.5, 2.0])), "bias": float(pick(rng, [0.0, 1.0]))}
    return Problem(op, [array(rng, dtype, shape(rng, largest=20))], attributes)


@makes("IsInf")
def is_inf(op, rng):
    return Problem(op, [array(rng, pick(rng, [np.float32, np.float64]), shape(rng), 1)],
                   {"detect_negative": int(rng.integers(2)), "detect_positive": int(rng.integers(2))})  # fmt: skip


@makes("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "PRelu")
def binary(op, rng):
    dtype = pick(rng, NUMBERS)
    if op == "PRelu":
        dtype = pick(rng, FLOATS)
    a, b = (array(rng, dtype, s) for s in broadcastable(rng, 2))
    if op == "PRelu":
        a = np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)).copy()
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


@makes("Where")
def where(op, rng):
    dtype = pick(rng, NUMBERS + [object])
    c, a, b = broadcastable(rng, 3)
    return Problem(op, [array(rng, bool, c), array(rng, dtype, a), array(rng, dtype, b)])


@makes("Clip")
def clip(op, rng):
    dtype = pick(rng, NUMBERS)
    limits = [None if chance(rng, 0.3) else array(rng, dtype, (), 0.2) for _ in range(2)]
    return Problem(op, [array(rng, dtype, shape(rng)), *limits], {})


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


@makes("ArgMax", "ArgMin")
def arg_reduce(op, rng):
    s = shape(rng, 1, 4, 0)
    x = array(rng, pick(rng, [np.float32, np.float64, np.int32, np.uint8, np.int8]), s, 0, -1, 1)
    return Problem(op, [x], {"axis": axis_of(rng, len(s)), "keepdims": int(rng.integers(2)), "select_last_index": int(rng.integers(2))}, opset=13)


@makes("TopK")
def top_k(op, rng):
    s = shape(rng, 1, 3, 0.1, 9)
    axis = axis_of(rng, len(s))
    x = array(rng, pick(rng, [np.float32, np.float64, np.int32, np.int64]), s, 0, -1, 1)
    k = int(rng.integers(0, s[axis] + 1))
    return Problem(op, [x, i64([k])], {"axis": axis, "largest": int(rng.integers(2)), "sorted": 1}, 2, pick(rng, [11, 23]), maybe_constant(rng, 1))


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


NARROW = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]


@makes("Cast", "CastLike")
def cast(op, rng):
    source, target = pick(rng, NUMBERS + [bool, object] + NARROW), pick(rng, NUMBERS + [bool, object] + NARROW)
    if source is object:
        texts = ["1", "-2", "3.5", "1e3", "0", "100"] if target not in INTS and target is not bool else ["1", "0", "100", "7"]
        if target in FLOATS:
            texts += ["INF", "-inf", "NaN", "+1"]
        x = rng.choice(np.array(texts, object), shape(rng, largest=8))
    else:
        x = array(rng, np.float32 if source in NARROW else source, shape(rng, largest=8), 0.5, -40, 40)
        if (np.dtype(source).kind == "f" or source in NARROW) and target in INTS:  # out of range is not defined
            x = np.clip(np.nan_to_num(x, nan=0, posinf=7, neginf=-7), 0 if np.dtype(target).kind == "u" else -99, 99)
        x = x.astype(source)
    t = np.dtype(target)
    attributes = {"saturate": int(rng.integers(2))} if target in NARROW[1:] else {}
    if op == "Cast":
        to = oh.np_dtype_to_tensor_dtype(t) if t.kind != "O" else 8
        return Problem(op, [x], {"to": to, **attributes}, opset=19)
    return Problem(op, [x, np.zeros(1, t) if t.kind != "O" else np.array([""], object)], attributes, opset=19)
