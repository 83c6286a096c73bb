"""Problems of LinearRegressor, LinearClassifier, SVMRegressor and SVMClassifier."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, pick
from known import differs
from learned import TRANSFORMS, floats, learned
from problem import ORT, REFERENCE
from tolerances import LARGEST, held_to, looser, sized


@makes("LinearRegressor", "LinearClassifier", "SVMRegressor", "SVMClassifier")
def linear(op, rng):
    x = array(rng, pick(rng, [np.float32, np.float64]), (int(rng.integers(1, 5)), int(rng.integers(1, 5))), 0)
    features, classes = x.shape[1], int(rng.integers(2, 5))
    after = {"post_transform": pick(rng, TRANSFORMS[:4])}
    if op == "LinearRegressor":
        return learned(op, [x.astype(np.float32)], {"coefficients": floats(rng, classes, features), "intercepts": floats(rng, classes), "targets": classes}, opset=1)
    if op == "LinearClassifier":
        return learned(op, [x.astype(np.float32)], {"coefficients": floats(rng, classes, features), "intercepts": floats(rng, classes), "classlabels_ints": list(range(classes)), **after}, 2, 1)
    kind = {"kernel_type": pick(rng, ["LINEAR", "POLY", "RBF", "SIGMOID"]), "kernel_params": [0.3, 0.5, 2.0]}
    x = x.astype(np.float32)
    if op == "SVMRegressor":
        n = int(rng.integers(1, 5))
        return learned(op, [x], {**kind, "n_supports": n, "support_vectors": floats(rng, n, features), "coefficients": floats(rng, n), "rho": floats(rng, 1)}, opset=1)
    per_class = [int(v) for v in rng.integers(1, 4, classes)]
    n, pairs = sum(per_class), classes * (classes - 1) // 2
    sigmoids = {"prob_a": floats(rng, pairs), "prob_b": floats(rng, pairs)} if chance(rng, 0.5) else {}
    return learned(op, [x], {**kind, **sigmoids, "vectors_per_class": per_class, "support_vectors": floats(rng, n, features),
                             "coefficients": floats(rng, n, classes - 1), "rho": floats(rng, pairs), "classlabels_ints": list(range(classes))}, 2, 1)  # fmt: skip


def _of_supports(p, i, numbers):
    """Where supports vote: of all their votes."""
    a = p.attributes
    return np.full_like(numbers, max(numbers.max(initial=0), np.abs(a["coefficients"]).sum() + np.abs(a.get("rho", [0])).max()))


sized("the largest number, or the sum of absolute coefficients", "SVMClassifier SVMRegressor", _of_supports)

sized(LARGEST, "LinearClassifier LinearRegressor")
held_to(2, "LinearClassifier LinearRegressor")
held_to(16, "SVMClassifier SVMRegressor")
looser("LinearClassifier", ORT, 4, "takes a small chance as 1 less a great one", of_one=True)

differs("LinearRegressor LinearClassifier SVMRegressor SVMClassifier", REFERENCE, "inputs not float32", lambda p: p.inputs[0].dtype != np.float32,
        "gives the input's type; the standard: float")  # fmt: skip
differs("SVMClassifier", REFERENCE, "probabilities of three classes or more", lambda p: "prob_a" in p.attributes,
        "adds up what belongs to several pairs of classes")  # fmt: skip
differs("SVMClassifier", REFERENCE, "two classes, coefficients that are not negative", lambda p: len(p.attributes["vectors_per_class"]) == 2 and min(p.attributes["coefficients"]) >= 0,
        "chooses the other class; here as ONNX Runtime, which the standard leaves open")  # fmt: skip
