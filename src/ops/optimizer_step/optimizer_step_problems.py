"""Problems of Adagrad, Adam and Momentum."""

from __future__ import annotations

import numpy as np

from draw import FLOATS, array, i64, makes, pick, shape
from known import differs
from problem import REFERENCE, Problem
from tolerances import LARGEST, sized

TRAINING = "ai.onnx.preview.training"


@makes("Adagrad", "Adam", "Momentum")
def step(op, rng):
    kept, count = (2 if op == "Adam" else 1), int(rng.integers(1, 3))
    dtype = pick(rng, FLOATS[:2])
    sizes = [shape(rng, 0, 2) for _ in range(count)]
    tensors = [array(rng, dtype, s, 0, 0.1, 2) for _ in range(2 + kept) for s in sizes]
    attributes = {"norm_coefficient": float(pick(rng, [0.0, 0.1]))}
    if op == "Momentum":
        attributes |= {"alpha": 0.9, "beta": 0.5, "mode": pick(rng, ["standard", "nesterov"])}
    rate, updates = np.asarray(0.1, dtype), i64(int(rng.integers(0, 5)))
    return Problem(op, [rate, updates, *tensors], attributes, (1 + kept) * count, 1, domain=TRAINING)


sized(LARGEST, "Adagrad Adam Momentum")

differs("Adam", REFERENCE, "one tensor of float behind the first update, or several of double", lambda p: len(p.inputs) == 6 and p.inputs[1] > 0 if p.inputs[2].dtype == np.float32 else len(p.inputs) > 6,
        "gives double for the first, float for the second")  # fmt: skip
