"""Problems of Dropout."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, pick, shape
from problem import Problem
from slopes import one, real, slopes
from tolerances import held_to
from versions import again, form, inputs_since


@makes("Dropout")
def dropout(op, rng):
    """Not training, where nothing is random."""
    x = array(rng, pick(rng, [np.float32, np.float64, np.float16]), shape(rng))
    ratio = np.asarray(rng.uniform(0, 0.9), np.float32) if chance(rng, 0.6) else None
    training = np.array(False) if chance(rng, 0.5) else None
    return Problem(op, [x, ratio, training], {"seed": 3} if chance(rng, 0.5) else {}, pick(rng, [1, 2]), 13)


@form("Dropout")
def not_training(q, since):
    if since < 12:
        q.attributes.pop("seed", None)
    if since < 12:  # what the mask holds outside of training is not said: ONNX Runtime gives zeros, onnx.reference ones
        q.outputs = 1
        again(q, outputs=1)
    if since < 7:
        q.attributes["is_test"] = 1


inputs_since(12, "Dropout", "ratio")

held_to(0, "Dropout")


@slopes("Dropout")
def derivative(op):
    yield one(op, {"x": real(5)})
