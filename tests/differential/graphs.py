"""Problems that are small graphs: of operators with bodies, of sequences and optionals."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx.parser

from draw import array, pick
from problem import Problem

BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.int64): "int64", np.dtype(bool): "bool"}


@dataclasses.dataclass
class GraphProblem(Problem):
    """As ONNX's text: a body in which `x0`, `x1`, … are the inputs and `y0`, … the outputs."""

    text: str = ""
    types: tuple[str, ...] = ()  # of outputs, where the text of one is not enough: "seq(float[])"
    of_many_nodes = True

    def _type(self, i, value):
        if isinstance(value, list):
            return f"seq({ELEMENTS[value[0].dtype]}[])"
        return f"{ELEMENTS[value.dtype]}[{', '.join(f'd{i}_{a}' for a in range(value.ndim))}]"

    def model(self):
        inputs = ", ".join(f"{self._type(i, v)} x{i}" for i, v in enumerate(self.inputs))
        outputs = ", ".join(f"{t} y{i}" for i, t in enumerate(self.types))
        return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {self.opset}]> g ({inputs}) => ({outputs}) {{ {self.text} }}')

    def __str__(self):
        return super().__str__() + " " + self.text


def steps(rng, values, out, operators=BINARY):
    """One to three of these over values of one shape, of which the last gives `out`."""
    lines, known = [], list(values)
    for k in range(int(rng.integers(1, 4))):
        lines.append(f"{out}_{k} = {pick(rng, operators)} ({pick(rng, known)}, {pick(rng, known)})")
        known.append(f"{out}_{k}")
    return "\n".join([*lines, f"{out} = Neg ({known[-1]})"])


def numbers(rng, s, dtype=None):
    return array(rng, dtype or pick(rng, [np.float32, np.float64, np.int64]), s, 0)


def bodies(q, since):
    """A form of versions.py. Of floats, which every version of the operators in them takes; a counter is compared since 9."""
    if since < 13 and any(v.dtype not in (np.float32, np.int64, bool) for v in q.inputs) or since < 9 and "Less" in q.text:
        return False
    return None
