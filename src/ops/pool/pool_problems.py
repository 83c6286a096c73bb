"""Problems of pools."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, pick, shape
from known import attribute, differs, has_nan, same, tiny
from numpy_judges import judges
from problem import ORT, REFERENCE, Problem, batch_axes, rare_numbers
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized
from windows import spatial, window


@makes("MaxPool", "AveragePool", "LpPool")
def pool(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    if "auto_pad" not in attributes or attributes["auto_pad"] == "VALID":
        attributes["ceil_mode"] = int(rng.integers(2))
    x = array(rng, pick(rng, [np.float32] * 3 + [np.float64]), (int(rng.integers(1, 3)), int(rng.integers(1, 4)), *sizes), 0)
    outputs = 1
    if op == "MaxPool":
        outputs = int(rng.integers(1, 3))
        if chance(rng, 0.2):
            x = array(rng, pick(rng, [np.int8, np.uint8]), x.shape)
        if chance(rng, 0.2):
            attributes["storage_order"] = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = int(rng.integers(2))
    if op == "LpPool":
        attributes["p"] = int(rng.integers(1, 4))
    return Problem(op, [x], attributes, outputs, opset=22)


@makes("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(op, rng):
    power = {"p": int(rng.integers(1, 4))} if op == "GlobalLpPool" and chance(rng, 0.6) else {}
    return Problem(op, [array(rng, np.float32, shape(rng, 3, 5, 0), 0)], power, opset=pick(rng, [21, 22]))


@makes("MaxUnpool")
def max_unpool(op, rng):
    *_, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    x = array(rng, np.float32, (1, 1, h, w), 0)
    indices = rng.permutation(4 * h * w)[: h * w].reshape(x.shape).astype(np.int64)
    return Problem(op, [x, indices], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11)


rare_numbers("MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool MaxUnpool")
batch_axes("MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool", (0, 0))


@judges("GlobalLpPool")
def judge_of_global_lp_pool(p):
    x, power = p.inputs[0].astype(np.float64), p.attributes.get("p", 2)
    return [(np.abs(x) ** power).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / power)]


sized(TERMS, "AveragePool GlobalAveragePool")
held_to(2, "AveragePool GlobalAveragePool")

differs("MaxPool AveragePool LpPool", ORT, "auto_pad SAME with dilations", lambda p: same(p) and "dilations" in p.attributes,
        "the standard: ceil(input / stride), whatever the dilation")  # fmt: skip
differs("MaxPool AveragePool LpPool", ORT, "auto_pad VALID with ceil_mode", lambda p: attribute(p, "auto_pad") == "VALID" and attribute(p, "ceil_mode"),
        "the standard has a formula of its own for this; it counts no window that begins in the last stride")  # fmt: skip
differs("MaxPool AveragePool LpPool", ORT, "auto_pad SAME, strides beyond the kernel", same, "pads by less than nothing")
differs("MaxPool AveragePool LpPool", REFERENCE, "ceil_mode, auto_pad, pads or storage_order", lambda p: any(attribute(p, name) for name in ("ceil_mode", "auto_pad", "pads", "storage_order")),
        "shapes, indices and pads of its own in ceil_mode, VALID and SAME")  # fmt: skip
differs("AveragePool LpPool", REFERENCE, "NaN", has_nan, "leaves NaN out of the mean and the sum")
differs("MaxPool", REFERENCE, "NaN", has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy")
differs("MaxPool GlobalMaxPool", ORT, "NaN", has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy")
differs("MaxPool", REFERENCE, "indices, strides and dilations of 1", lambda p: p.outputs == 2 and {*attribute(p, "strides", []), *attribute(p, "dilations", [])} <= {1},
        "counts from the beginning of each channel, and by the width of other kernels than 3")  # fmt: skip
differs("GlobalMaxPool", ORT, "a channel of -infinity alone", lambda p: bool((p.inputs[0].reshape(*p.inputs[0].shape[:2], -1).max(-1) == -np.inf).any()),
        "begins with the lowest finite number")  # fmt: skip
differs("GlobalLpPool LpPool", f"{ORT} {REFERENCE}", "squares below float", tiny, "calculates in float: 0, or the number itself")
differs("GlobalMaxPool", REFERENCE, "other than two spatial axes", lambda p: p.inputs[0].ndim != 4,
        "takes the maximum over axes rank - 2 and rank - 1 of the spatial rank, which are the last two of an image alone")  # fmt: skip


@slopes("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
def derivatives(op):
    x, windows = {"x": real(2, 3, 6, 5)}, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    yield one(op, x, **({} if op.startswith("Global") else windows))
    if op == "AveragePool":
        yield one(op, x, count_include_pad=1, **windows)
        yield one(op, x, kernel_shape=[2, 2], dilations=[2, 1], strides=[3, 2])
