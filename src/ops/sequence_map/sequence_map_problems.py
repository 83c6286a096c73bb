"""Problems of SequenceMap."""

from __future__ import annotations

import numpy as np

from draw import chance, makes, shape
from graphs import GraphProblem, numbers, steps


@makes("SequenceMap")
def sequence_map(op, rng):
    s, count = shape(rng, 0, 2), int(rng.integers(1, 4))
    items = [[numbers(rng, s, np.float32) for _ in range(count)] for _ in range(2)]
    second, other = ("x1", items[1]) if chance(rng, 0.5) else ("x1", items[1][0])
    body = f"{steps(rng, ['a', 'b'], 'r')}\nt = Abs (a)"
    text = f"y0, y1 = SequenceMap <body = m (float[] a, float[] b) => (float[] r, float[] t) {{ {body} }}> (x0, {second})"
    return GraphProblem(op, [items[0], other], text=text, outputs=2, types=("seq(float[])", "seq(float[])"))
