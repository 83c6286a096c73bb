"""Problems of derivatives: functions that tests/python/test_gradient.py differentiates, in double, and compares with differences. The folders
of the operators that have a rule register them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper

ALL = {}
DOUBLE = onnx.TensorProto.DOUBLE


@dataclasses.dataclass
class Slope:
    """Nodes that make "y" of the values' names."""

    nodes: list[Any]
    values: dict[str, np.ndarray]
    opset: int = 22
    symbolic: bool = False  # sizes are known when it runs


def slopes(*names):
    """`f(op)` gives the Slopes of an operator."""

    def register(f):
        for name in names:
            ALL.setdefault(name, []).append(f)
        return f

    return register


def of(op):
    return [slope for f in ALL[op] for slope in f(op)]


def constant(name, value):
    return oh.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(value), name))


def real(*shape, seed=0, low=-2.0, high=2.0, away=0.05):
    """Random, and no number near a whole one, where many functions have corners."""
    x = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    near = np.abs(x - np.round(x)) < away
    return np.where(near, x + 3 * away, x)


def ints(*values):
    return np.array(values, np.int64)


def one(op, values, given=(), opset=22, symbolic=False, before=(), **attributes):
    """One node of the values, behind which `given` are further inputs that `before` makes."""
    return Slope([*before, oh.make_node(op, [*values, *given], ["y"], **attributes)], values, opset, symbolic)
