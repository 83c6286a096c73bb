"""Problems of integer products."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant, pick
from problem import Problem, batch_axes
from windows import window


@makes("ConvInteger")
def conv_integer(op, rng):
    rank, sizes = 2, [int(rng.integers(1, 9)) for _ in range(2)]
    attributes = window(rng, rank, sizes)
    x = array(rng, np.uint8, (1, 2, *sizes))
    w = array(rng, np.uint8, (3, 2, *attributes["kernel_shape"]))
    return Problem(op, [x, w, array(rng, np.uint8, ()), array(rng, np.uint8, ())], attributes)


@makes("MatMulInteger")
def matmul_integer(op, rng):
    m, k, n = (int(rng.integers(1, 9)) for _ in range(3))
    ta, tb = pick(rng, [np.uint8, np.int8]), pick(rng, [np.uint8, np.int8])
    zero_a = array(rng, ta, ())
    zero_b = array(rng, tb, (n,) if chance(rng, 0.3) else ())
    return Problem(op, [array(rng, ta, (m, k)), array(rng, tb, (k, n)), zero_a, zero_b], constant=maybe_constant(rng, 1))


@makes("QLinearMatMul", "QLinearConv")
def quantized(op, rng):
    def number(dtype=None):
        return np.asarray(rng.uniform(0.01, 0.1), np.float32) if dtype is None else array(rng, dtype, (), 0)

    kinds = [pick(rng, [np.uint8, np.int8]) for _ in range(2)]
    out = kinds[0]
    if op == "QLinearMatMul":
        m, k, n = (int(rng.integers(1, 5)) for _ in range(3))
        a, b = array(rng, kinds[0], (m, k)), array(rng, kinds[1], (k, n))
        return Problem(op, [a, number(), number(kinds[0]), b, number(), number(kinds[1]), number(), number(out)], {}, opset=21)
    c, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x, w = array(rng, kinds[0], (1, c, 5, 5)), array(rng, kinds[1], (m, c, 3, 3))
    return Problem(op, [x, number(), number(kinds[0]), w, number(), np.zeros((), kinds[1]), number(), number(out)], {"pads": [int(v) for v in rng.integers(0, 2, 4)]}, opset=10)


batch_axes("ConvInteger QLinearConv QLinearMatMul MatMulInteger", (0, 0))
