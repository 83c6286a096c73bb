"""Problems of sequences."""

from __future__ import annotations

import numpy as np

from draw import array, axis_of, chance, i64, makes, pick, shape
from graphs import GraphProblem, numbers
from known import attribute, differs
from problem import ORT, Problem


@makes("SequenceConstruct", "SequenceEmpty")
def made_sequences(op, rng):
    s, count = shape(rng, 0, 3), int(rng.integers(1, 4))
    items = [numbers(rng, s, np.float32) for _ in range(count)]
    names = ", ".join(f"x{i}" for i in range(count))
    if op == "SequenceConstruct":
        return GraphProblem(op, items, text=f"y0 = SequenceConstruct ({names})", types=("seq(float[])",))
    made = [*(f"s{i}" for i in range(count)), "y0"]
    text = "\n".join(["s0 = SequenceEmpty <dtype = 1> ()", *(f"{made[i + 1]} = SequenceInsert ({made[i]}, x{i})" for i in range(count))])
    return GraphProblem(op, items, text=text + f"\ny1 = SequenceLength ({pick(rng, made)})", outputs=2, types=("seq(float[])", "int64"))


@makes("SequenceAt", "SequenceInsert", "SequenceErase", "ConcatFromSequence", "SplitToSequence", "SequenceLength")
def sequences(op, rng):
    s = shape(rng, 1, 3, 0)
    items = [array(rng, np.float32, s) for _ in range(rng.integers(1, 4))]
    at = np.array(int(rng.integers(-len(items), len(items))), np.int64)
    if op == "SequenceInsert":
        return Problem(op, [items, array(rng, np.float32, s), *([at] if chance(rng, 0.6) else [])], opset=11)
    if op == "SequenceErase":
        return Problem(op, [items, *([at] if chance(rng, 0.6) else [])], opset=11)
    if op == "ConcatFromSequence":
        new = int(rng.integers(2))
        return Problem(op, [items], {"axis": int(rng.integers(-len(s) - new, len(s) + new)), "new_axis": new}, opset=11)
    if op == "SplitToSequence":
        axis = axis_of(rng, len(s))
        cut = int(rng.integers(0, s[axis] + 1))
        split = pick(rng, [[], [np.array(int(rng.integers(1, 3)), np.int64)], [i64([cut, s[axis] - cut])]])
        return Problem(op, [array(rng, np.float32, s), *split], {"axis": axis, "keepdims": int(rng.integers(2))}, opset=11)
    return Problem(op, [items, at] if op == "SequenceAt" else [items], opset=11)


differs("SplitToSequence", ORT, "split given and keepdims = 0", lambda p: len(p.inputs) > 1 and not attribute(p, "keepdims", 1),
        "the standard: keepdims is ignored then")  # fmt: skip
