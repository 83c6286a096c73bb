"""Problems of Scan."""

from __future__ import annotations

import re

import numpy as np

from draw import makes, pick, shape
from graphs import BINARY, GraphProblem, bodies, numbers, steps
from known import differs
from problem import REFERENCE
from versions import form


@makes("Scan")
def scan(op, rng):
    length, s = int(rng.integers(1, 6)), shape(rng, 1, 2, 0)
    axes = [int(rng.integers(-(len(s) + 1), len(s) + 1)) for _ in range(2)]
    xs = [numbers(rng, tuple(np.insert(s, a % (len(s) + 1), length)), np.float32) for a in axes]
    out_axis = int(rng.integers(-(len(s) + 1), len(s) + 1))
    dims = ", ".join(f"s{a}" for a in range(len(s)))
    body = f"{steps(rng, ['state', 'a', 'b'], 'next')}\nrow = {pick(rng, BINARY)} (state, b)"
    attributes = [
        "num_scan_inputs = 2",
        f"scan_input_axes = [{axes[0]}, {axes[1]}]",
        f"scan_input_directions = [{int(rng.integers(2))}, {int(rng.integers(2))}]",
        f"scan_output_axes = [{out_axis}]",
        f"scan_output_directions = [{int(rng.integers(2))}]",
        f"body = b (float[{dims}] state, float[{dims}] a, float[{dims}] b) => (float[{dims}] next, float[{dims}] row) {{ {body} }}",
    ]
    return GraphProblem(op, [numbers(rng, s, np.float32), *xs], text=f"y0, y1 = Scan <{', '.join(attributes)}> (x0, x1, x2)", outputs=2, types=("float[]", "float[]"))


form("Scan")(bodies)


@form("Scan")
def axes_of_versions_9_and_10(q, since):
    return not (8 < since < 11 and re.search(r"axes = \[[^]]*-", q.text))


@form("Scan")
def in_batches(q, since):
    """Version 8: a batch in front, and axes as they are."""
    if since > 8:
        return
    axis = int(re.search(r"scan_input_axes = \[(-?\d+)", q.text)[1])
    x = np.moveaxis(q.inputs[1], axis, 0)
    q.inputs = [np.stack([v, -v]) for v in (q.inputs[0], x, x[::-1])]
    dims = ", ".join(f"s{a}" for a in range(x.ndim - 1))
    formals = ", ".join(f"float[{dims}] {name}" for name in ("state", "a", "b"))
    body = q.text[q.text.index("{") : q.text.rindex(">")]
    lengths = ""
    if len(x) > 1 and x.size % 2:  # sequences of lengths of their own
        q.inputs.append(np.array([len(x) // 2, len(x)]))
        lengths = "x3"
    q.text = f"y0, y1 = Scan <num_scan_inputs = 2, directions = [0, 1], body = b ({formals}) => (float[{dims}] next, float[{dims}] row) {body}> ({lengths}, x0, x1, x2)"
    q.newest = None


differs("Scan", REFERENCE, "scan_input_axes", lambda p: "scan_input_axes" in str(p), "takes items along another axis now and then")
