"""Problems of activations, Clip and PRelu."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh

from draw import FLOATS, INTS, NUMBERS, SMALL, array, broadcastable, chance, makes, pick, shape
from known import differs, given, not_finite
from numpy_judges import judges
from problem import ORT, REFERENCE, Problem, batch_axes, decided_by_type, rare_numbers
from slopes import Slope, constant, one, real, slopes
from tolerances import LARGEST, TERMS, held_to, looser, sized
from versions import again, form, inputs_since


@makes(*"Sigmoid Relu LeakyRelu Elu Selu Softplus Softsign HardSigmoid HardSwish ThresholdedRelu Celu Mish Gelu Shrink".split())
def activation(op, rng):
    pick(rng, INTS)  # so that a seed gives the problems that it always gave
    dtype = pick(rng, SMALL if op == "Shrink" else [np.float32] * 3 + [np.float64, np.float16])
    if op == "Celu":
        dtype = np.float32
    attributes = {}
    if op in ("LeakyRelu", "Elu", "ThresholdedRelu", "Celu") and chance(rng, 0.5):
        attributes["alpha"] = float(pick(rng, [0.3, 1.0, 2.0]))
    if op == "Gelu":
        attributes["approximate"] = pick(rng, ["none", "tanh"])
    if op == "Shrink":
        attributes = {"lambd": float(pick(rng, [0.0, 0.5, 2.0])), "bias": float(pick(rng, [0.0, 1.0]))}
    return Problem(op, [array(rng, dtype, shape(rng, largest=20))], attributes)


@makes("PRelu")
def prelu(op, rng):
    pick(rng, NUMBERS)  # so that a seed gives the problems that it always gave
    dtype = pick(rng, FLOATS)
    a, b = (array(rng, dtype, s) for s in broadcastable(rng, 2))
    a = np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)).copy()
    return Problem(op, [a, b])


@makes("Clip")
def clip(op, rng):
    dtype = pick(rng, NUMBERS)
    limits = [None if chance(rng, 0.3) else array(rng, dtype, (), 0.2) for _ in range(2)]
    return Problem(op, [array(rng, dtype, shape(rng)), *limits], {})


@makes("Swish", "SwiGLU")
def gated(op, rng):
    dtype = pick(rng, FLOATS)
    s = shape(rng, 1, 3)
    if op == "Swish":
        return Problem(op, [array(rng, dtype, s)], {"alpha": float(pick(rng, [1.0, 0.5, -1.0]))}, opset=24)
    return Problem(op, [array(rng, dtype, s), array(rng, dtype, s)], {"alpha": float(pick(rng, [1.0, 0.5, -1.0]))} if chance(rng, 0.5) else {}, opset=28)


rare_numbers("SwiGLU")
batch_axes("SwiGLU", (0, 0), (1, 0))
decided_by_type("Clip")  # limits


@form("Clip")
def bounds_of_float(q, since):
    """Left out, they were float32's greatest and lowest, whatever the type."""
    if since < 11:
        x, *bounds = [*q.newest.inputs, None, None][:3]
        most = np.finfo(np.float32).max
        with np.errstate(all="ignore"):
            again(q, inputs=[x, *(np.asarray(end).astype(x.dtype) if b is None else b for b, end in zip(bounds, (-most, most)))])


inputs_since(11, "Clip", "min", "max")


@form("PRelu")
def slope_of_each_channel(q, since):
    if since >= 7:
        return None
    x, slope = q.inputs
    if x.ndim < 2 or not slope.size:
        return False
    q.inputs[1] = np.resize(slope, x.shape[1])
    again(q, inputs=[x, q.inputs[1].reshape(-1, *[1] * (x.ndim - 2))])
    return None


@judges("SwiGLU")
def judge_of_swiglu(p):
    a, b = (v.astype(np.float64) for v in p.inputs)
    return [a / (1 + np.exp(-p.attributes.get("alpha", 1.0) * a)) * b]


sized(TERMS, "HardSigmoid HardSwish")
sized(LARGEST, "Gelu")
held_to(0, "PRelu Shrink ThresholdedRelu")
held_to(2, "HardSigmoid HardSwish LeakyRelu Softsign SwiGLU")
looser("Mish Sigmoid Swish", ORT, 8, "formulas for many numbers at a time, which are right beside 1, not beside numbers near 0", of_one=True)
looser("Celu Elu Selu", ORT, 4, "takes 1 from the exponential, of which bits are lost near 0", of_one=True)
looser("Gelu HardSwish", REFERENCE, 4, "constants and tables of float, for double too", as_float=True, of_one=True)
looser("Gelu", ORT, 4, "the standard's body: constants of float, for double too", as_float=True, of_one=True)

differs("Shrink", ORT, "32-bit integers, double", lambda p: p.inputs[0].dtype.kind in "iu" or p.inputs[0].dtype == np.float64, "goes through float")
differs("PRelu", REFERENCE, "infinities", not_finite, "NaN from 0 times infinity, or infinity less infinity")
differs("Clip", REFERENCE, "infinities with a bound left out, a bound that is NaN", lambda p: not_finite(p) and (not (given(p, 1) and given(p, 2)) or any(np.isnan(v).any() for v in p.inputs[1:])),
        "the standard's default is the greatest finite number; a NaN is no bound for ONNX Runtime either")  # fmt: skip
differs("Clip", ORT, "infinities in float16 with a bound left out", lambda p: p.inputs[0].dtype == np.float16 and not_finite(p) and not (given(p, 1) and given(p, 2)),
        "casts to float where it has no kernel, whose greatest number is the bound then")  # fmt: skip


RANGES = {
    **dict.fromkeys("Mish Sigmoid Softplus Softsign".split(), (-2, 2)),
    **dict.fromkeys("Celu Elu Gelu HardSigmoid HardSwish LeakyRelu Relu Selu ThresholdedRelu".split(), (-4, 4)),
}
OTHER_ATTRIBUTES = {
    "Celu": {"alpha": 1.7}, "Elu": {"alpha": 0.4}, "Selu": {"alpha": 1.2, "gamma": 0.7}, "LeakyRelu": {"alpha": 0.3},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "ThresholdedRelu": {"alpha": 0.35}, "Gelu": {"approximate": "tanh"},
}  # fmt: skip


@slopes(*RANGES)
def derivatives(op):
    low, high = RANGES[op]
    yield one(op, {"x": real(3, 7, low=low, high=high)}, opset=28)  # Celu knew float alone before
    if op in OTHER_ATTRIBUTES:
        yield one(op, {"x": real(20, low=-4, high=4)}, opset=28, **OTHER_ATTRIBUTES[op])


@slopes("Swish")
def derivative_of_swish(op):
    yield one(op, {"x": real(9)}, opset=24, alpha=1.3)


@slopes("PRelu")
def derivative_of_prelu(op):
    yield one(op, {"x": real(4, 3), "slope": real(3, seed=1)})


@slopes("Clip")
def derivative_of_clip(op):
    bounds = [constant("low", -0.7), constant("high", 0.9)]
    yield one(op, {"x": real(4, 3)}, ["low", "high"], before=bounds)
    yield one(op, {"x": real(12), "low": np.array(-0.72), "high": np.array(0.93)})
    yield Slope([oh.make_node(op, ["x", "", "high"], ["y"])], {"x": real(12), "high": np.array(0.93)})
