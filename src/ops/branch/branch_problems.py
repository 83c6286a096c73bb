"""Problems of If."""

from __future__ import annotations

import numpy as np

from draw import chance, makes, shape
from graphs import GraphProblem, bodies, numbers, steps
from versions import form


def _if(out, condition, sides):
    return f"{out} = If <then_branch = {sides[0]}, else_branch = {sides[1]}> ({condition})"


@makes("If")
def branch(op, rng):
    s = shape(rng, 0, 3)
    x = [numbers(rng, s, np.float32), numbers(rng, s, np.float32)]
    outer = steps(rng, ["x0", "x1"], "a")
    inner = _if("r", "x2", [f"side{k} () => (float[] r{k}) {{ {steps(rng, ['x0', 'x1', 'a'], f'r{k}')} }}" for k in range(2)])
    if chance(rng, 0.6):
        return GraphProblem(op, [*x, np.array(chance(rng, 0.5))], text=f"{outer}\n{inner}\ny0 = Identity (r)", types=("float[]",))
    nested = _if("y0", "x3", [f"outside () => (float[] r) {{ {inner} }}", "other () => (float[] e) { e = Identity (a) }"])
    return GraphProblem(op, [*x, *(np.array(chance(rng, 0.5)) for _ in range(2))], text=f"{outer}\n{nested}", types=("float[]",))


form("If")(bodies)
