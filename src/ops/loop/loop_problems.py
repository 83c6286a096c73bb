"""Problems of Loop."""

from __future__ import annotations

import numpy as np

from draw import chance, makes, pick, shape
from graphs import BINARY, ELEMENTS, GraphProblem, bodies, numbers, steps
from known import differs
from problem import ORT, REFERENCE
from versions import form


@makes("Loop")
def loop(op, rng):
    s, most = shape(rng, 0, 2), int(rng.integers(0, 6))
    dtype = pick(rng, [np.float32, np.int64])
    t, given, until = ELEMENTS[np.dtype(dtype)], chance(rng, 0.7), int(rng.integers(0, 7))
    start, outer = numbers(rng, s, dtype), numbers(rng, s, dtype)
    operators = BINARY if dtype == np.float32 else BINARY[:3]  # ONNX Runtime compares the lower half of large numbers
    # Without a count the condition ends it.
    keep = "go = Less (i, x4)" if not given or chance(rng, 0.5) else "go = Identity (before)"
    body = f"{keep}\n{steps(rng, ['v', 'x1'], 'v1', operators)}\nkept = {pick(rng, operators)} (v, v1)\nwhole = Identity (i)"
    counted = chance(rng, 0.7)
    last, out = (", int64 whole", ", y2") if counted else ("", "")
    text = (f"y0, y1{out} = Loop <body = b (int64 i, bool before, {t}[] v) => (bool go, {t}[] v1, {t}[] kept{last}) {{ {body} }}> "
            f"({'x2' if given else ''}, x3, x0)")  # fmt: skip
    inputs = [start, outer, np.array(most, np.int64), np.array(chance(rng, 0.85)), np.array(until, np.int64)]
    types = (f"{t}[]", f"{t}[]", "int64[]")[: 2 + counted]
    return GraphProblem(op, inputs, text=text, outputs=len(types), types=types)


form("Loop")(bodies)


@form("Loop")
def floats_of_the_first_versions(q, since):
    return since >= 9 or q.inputs[0].dtype == np.float32


def _loops_never(p):
    """Loop: without a first iteration."""
    return not p.inputs[3] or p.inputs[2] == 0


differs("Loop", ORT, "no iteration", _loops_never, "outputs of the body lose their rank")
differs("Loop", REFERENCE, "what the body puts out is not of rank 1, or there is no iteration", lambda p: p.outputs == 3 or p.inputs[0].ndim != 1 or _loops_never(p),
        "joins by vstack: along the first axis from rank 2 on, numbers as columns; of nothing it cannot")  # fmt: skip
