"""Problems of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, makes, pick, shape
from known import differs
from problem import ORT, Problem, decided_by_type, rare_numbers
from tolerances import held_to


@makes("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
def quantize(op, rng):
    if op == "DynamicQuantizeLinear":
        return Problem(op, [array(rng, np.float32, shape(rng, 1, 3, 0), 0)], {}, 3)
    s = shape(rng, 1, 3, 0, 6)
    axis = axis_of(rng, len(s))
    per_axis = chance(rng, 0.5)
    scale_shape = (s[axis],) if per_axis else ()
    scale = array(rng, np.float32, scale_shape, 0, 0.01, 0.5)
    narrow = pick(rng, [np.uint8, np.int8, np.int16, np.uint16])
    zero = array(rng, narrow, scale_shape, 0) if chance(rng, 0.7) else None
    if zero is None and op == "QuantizeLinear":
        narrow = np.uint8
    x = array(rng, np.float32, s, 0, -20, 20) if op == "QuantizeLinear" else array(rng, narrow, s)
    return Problem(op, [x, scale, *([] if zero is None else [zero])], {"axis": axis} if per_axis else {}, opset=21)


rare_numbers("DequantizeLinear")
decided_by_type("QuantizeLinear")  # the rounding of a quotient

held_to(0, "DequantizeLinear DynamicQuantizeLinear QuantizeLinear")

differs("QuantizeLinear", ORT, "float16", lambda p: p.inputs[0].dtype == np.float16,
        "divides in float32; the standard, and the reference: in the type of the scale, whose quotient may round to another number")  # fmt: skip
