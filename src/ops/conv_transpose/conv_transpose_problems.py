"""Problems of ConvTranspose."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant
from known import differs, not_finite, same
from problem import ORT, REFERENCE, Problem, batch_axes, rare_numbers
from slopes import one, real, slopes
from tolerances import TERMS, held_to, sized
from windows import spatial, window


@makes("ConvTranspose")
def conv_transpose(op, rng):
    rank, sizes = spatial(rng)
    attributes = window(rng, rank, sizes)
    group, c, m = int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if chance(rng, 0.4):
        limits = [max(s, d) for s, d in zip(attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank))]
        attributes["output_padding"] = [int(rng.integers(0, n)) for n in limits]
    x = array(rng, np.float32, (1, group * c, *sizes), 0, -1, 1)
    w = array(rng, np.float32, (group * c, m, *attributes["kernel_shape"]), 0, -1, 1)
    return Problem(op, [x, w], {**attributes, "group": group}, opset=22, constant=maybe_constant(rng, 1))


rare_numbers("ConvTranspose")
batch_axes("ConvTranspose", (0, 0))

sized(TERMS, "ConvTranspose")
held_to(2, "ConvTranspose")

differs("ConvTranspose", REFERENCE, "NaN or infinities", not_finite, "multiplies them with the zeros between dilated weights")
differs("ConvTranspose", ORT, "auto_pad SAME, strides beyond the kernel", same, "the standard: the output is stride times input")
differs("ConvTranspose", REFERENCE, "auto_pad SAME, strides beyond the kernel", same, "begins with the padding of the end")

CONVOLUTIONS = [
    ((2, 3, 4), (3, 2, 3), {}),
    ((1, 4, 3, 4), (4, 2, 3, 2), {"group": 2, "strides": [2, 3], "pads": [1, 0, 1, 1], "output_padding": [1, 2]}),
    ((1, 2, 5), (2, 2, 3), {"dilations": [2]}),
]


@slopes("ConvTranspose")
def derivative(op):
    for x, w, attributes in CONVOLUTIONS:
        outputs = w[1] * attributes.get("group", 1)
        yield one(op, {"x": real(*x), "w": real(*w, seed=1), "b": real(outputs, seed=2)}, **attributes)
