"""Problems of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from __future__ import annotations

import itertools

import numpy as np

from draw import FLOATS, array, chance, makes, pick, shape
from known import attribute, differs
from problem import REFERENCE, Problem
from slopes import constant, one, real, slopes
from tolerances import ONE, TERMS, held_to, sized


@makes("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(op, rng):
    n, c = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    inner = shape(rng, 0, 2, 0)
    dtype = pick(rng, FLOATS)
    classes = rng.integers(0, c, (n, *inner)).astype(pick(rng, [np.int32, np.int64]))
    attributes = {"reduction": pick(rng, ["none", "sum", "mean"])}
    if chance(rng, 0.5):
        attributes["ignore_index"] = int(pick(rng, [0, -1, c + 3]))
        classes = np.where(rng.random(classes.shape) < 0.2, attributes["ignore_index"], classes).astype(classes.dtype)
    weights = [array(rng, dtype, (c,), 0, 0.1, 2)] if chance(rng, 0.5) else []
    outputs = 2 if op.startswith("Softmax") and chance(rng, 0.5) else 1
    return Problem(op, [array(rng, dtype, (n, c, *inner), 0), classes, *weights], attributes, outputs, 13)


sized(TERMS, "NegativeLogLikelihoodLoss")
sized(ONE, "SoftmaxCrossEntropyLoss")
held_to(2, "SoftmaxCrossEntropyLoss")
held_to(4, "NegativeLogLikelihoodLoss")

differs("NegativeLogLikelihoodLoss", REFERENCE, "ignore_index = -1", lambda p: attribute(p, "ignore_index") == -1,
        "takes it for none, and counts what is ignored in the mean; the standard's body and ONNX Runtime do not")  # fmt: skip


@slopes("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def derivatives(op):
    for reduction, weighted, ignored in itertools.product(("mean", "sum", "none"), (False, True), (None, -100, 1)):
        labels = np.array([[0, 2], [1, 1], [2, 0]])
        if ignored is not None:
            labels[0, 1] = ignored
        nodes, given = [constant("labels", labels)], ["labels"]
        if weighted:
            nodes, given = [*nodes, constant("w", np.array([0.5, 2.0, 3.0]))], [*given, "w"]
        attributes = {"reduction": reduction} if ignored is None else {"reduction": reduction, "ignore_index": ignored}
        yield one(op, {"x": real(3, 3, 2)}, given, before=nodes, **attributes)
