"""Problems of Optional, OptionalHasElement and OptionalGetElement."""

from __future__ import annotations

import numpy as np

from draw import chance, makes, pick, shape
from graphs import ELEMENTS, GraphProblem, numbers
from known import differs
from problem import REFERENCE
from versions import form


@makes("Optional", "OptionalHasElement", "OptionalGetElement")
def optionals(op, rng):
    dtype = pick(rng, [np.float32, np.int64])
    t = ELEMENTS[np.dtype(dtype)]
    value = numbers(rng, shape(rng, 0, 3), dtype)
    inner = f"{t}[]"
    if chance(rng, 0.4):
        value, inner = [value, value], f"seq({t}[])"
    if op != "Optional" and chance(rng, 0.3):  # since 18 also of what is no optional
        out = "bool" if op == "OptionalHasElement" else inner
        return GraphProblem(op, [value], text=f"y0 = {op} (x0)", opset=18, types=(out,))
    filled = chance(rng, 0.7) or op == "OptionalGetElement"
    made = "o = Optional (x0)" if filled else f"o = Optional <type = {inner}> ()"
    if op == "OptionalHasElement" or op == "Optional" and (not filled or chance(rng, 0.5)):
        return GraphProblem(op, [value], text=f"{made}\ny0 = OptionalHasElement (o)\ny1 = Identity (x0)", outputs=2, opset=18, types=("bool", inner))
    return GraphProblem(op, [value], text=f"{made}\ny0 = OptionalGetElement (o)", opset=18, types=(inner,))


@form("OptionalGetElement", "OptionalHasElement")
def of_optionals(q, since):
    return since >= 18 or "(x0)" not in q.text.replace("Optional (x0)", "").replace("Identity (x0)", "")


differs("Optional OptionalGetElement", REFERENCE, "OptionalGetElement of what Optional made", lambda p: "OptionalGetElement (o)" in p.text,
        "an Optional is a list of one there, which OptionalGetElement leaves as it is")  # fmt: skip
differs("Optional OptionalHasElement", REFERENCE, "an Optional of nothing", lambda p: "Optional <type" in p.text,
        "it is a list of one there, which is something")  # fmt: skip
