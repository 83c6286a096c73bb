"""Operators of ai.onnx.ml, and steps of training."""

from __future__ import annotations

import numpy as np

from draw import FLOATS, array, chance, i64, makes, pick, shape
from problem import Problem

ML, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"
FEATURES = [np.float32, np.float32, np.float64, np.int64, np.int32]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def learned(op, inputs, attributes, outputs=1, opset=3):
    return Problem(op, inputs, attributes, outputs, opset, domain=ML)


def rows(rng, special=0.15, zero=0.1):
    n, f = (0 if chance(rng, zero) else int(rng.integers(1, 6))), int(rng.integers(1, 6))
    return array(rng, pick(rng, FEATURES), (n, f), special)


def floats(rng, *sizes):
    return [float(v) for v in np.round(rng.uniform(-2, 2, int(np.prod(sizes))), 3).astype(np.float32)]


@makes("ArrayFeatureExtractor", "Binarizer", "FeatureVectorizer", "Imputer", "Normalizer", "Scaler")
def features(op, rng):
    x = rows(rng)
    columns = x.shape[1]
    if op == "ArrayFeatureExtractor":
        return learned(op, [x, i64(rng.integers(0, columns, (1, int(rng.integers(1, 5)))))], {})
    if op == "Binarizer":
        return learned(op, [x], {"threshold": float(pick(rng, [0.0, 0.5, -1.0]))})
    if op == "FeatureVectorizer":
        # ONNX Runtime aborts where there are no rows.
        parts = [array(rng, x.dtype, (max(x.shape[0], 1), int(rng.integers(1, 4))), 0) for _ in range(rng.integers(1, 4))]
        return learned(op, parts, {"inputdimensions": [p.shape[1] for p in parts]}, opset=1)
    if op == "Imputer":
        count = columns if chance(rng, 0.5) else 1
        if x.dtype.kind == "i":
            return learned(op, [x], {"imputed_value_int64s": [int(v) for v in rng.integers(-5, 6, count)], "replaced_value_int64": 0}, opset=1)
        return learned(op, [x], {"imputed_value_floats": floats(rng, count), "replaced_value_float": float(pick(rng, [np.nan, 0.0, 1.0]))}, opset=1)
    if op == "Normalizer":
        return learned(op, [np.where(np.isfinite(x), x, 0).astype(x.dtype) if x.dtype.kind == "f" else x], {"norm": pick(rng, ["MAX", "L1", "L2"])}, opset=1)
    count = columns if chance(rng, 0.5) else 1
    return learned(op, [x], {"offset": floats(rng, count), "scale": floats(rng, count)}, opset=1)


WORDS = ["a", "b", "Ä", "", "long word"]


@makes("LabelEncoder", "CategoryMapper", "OneHotEncoder")
def labels(op, rng):
    count, s = int(rng.integers(1, 4)), shape(rng, 1, 2)
    words = rng.choice(np.array(WORDS, object), s)
    chosen = [str(w) for w in rng.permutation(WORDS)[:count]]
    numbers = [int(v) for v in rng.permutation(5)[:count]]
    if op == "OneHotEncoder":
        if chance(rng, 0.5):
            return learned(op, [words], {"cats_strings": chosen}, opset=1)
        return learned(op, [rng.integers(0, 6, s).astype(pick(rng, FEATURES))], {"cats_int64s": numbers}, opset=1)
    from_words = chance(rng, 0.5)
    x = words if from_words else i64(rng.integers(0, 6, s))
    if op == "CategoryMapper":
        return learned(op, [x], {"cats_strings": chosen, "cats_int64s": numbers, "default_int64": -3, "default_string": "none"}, opset=1)
    if chance(rng, 0.3):
        return learned(op, [array(rng, np.float32, s)], {"keys_floats": [float("nan"), 0.5, 1.0], "values_int64s": [1, 2, 3]}, opset=2)
    keys = {"keys_strings": chosen} if from_words else {"keys_int64s": numbers}
    values = pick(rng, [{"values_floats": floats(rng, count)}, {"values_int64s": numbers}, {"values_strings": chosen}])
    return learned(op, [x], {**keys, **values}, opset=pick(rng, [2, 4]))


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


class Trees:
    """Trees of random branches, in the numbering of versions 1 to 3."""

    def __init__(self, rng, features, count):
        self.nodes, self.leaves = [], []  # (tree, node, feature, value, mode, true, false)
        for tree in range(count):
            self._grow(rng, features, tree, int(rng.integers(0, 4)))

    def _grow(self, rng, features, tree, depth):
        nodes = []

        def add(depth):
            at = len(nodes)
            nodes.append(None)
            if depth == 0:
                nodes[at] = (tree, at, 0, 0.0, "LEAF", 0, 0)
                self.leaves.append((tree, at))
                return at
            mode = pick(rng, ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
            feature, value = int(rng.integers(features)), float(pick(rng, [-1.0, 0.0, 0.5, 1.0]))
            then, otherwise = add(depth - 1), add(int(rng.integers(0, depth)))
            nodes[at] = (tree, at, feature, value, mode, then, otherwise)
            return at

        add(depth)
        self.nodes += nodes

    def attributes(self):
        names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        return {f"nodes_{name}": [node[i] for node in self.nodes] for i, name in enumerate(names)}

    def votes(self, rng, prefix, targets):
        chosen = [(leaf, t) for leaf in self.leaves for t in sorted(set(rng.integers(0, targets, 2).tolist()))]
        return {
            f"{prefix}_treeids": [leaf[0] for leaf, _ in chosen],
            f"{prefix}_nodeids": [leaf[1] for leaf, _ in chosen],
            f"{prefix}_ids": [t for _, t in chosen],
            f"{prefix}_weights": floats(rng, len(chosen)),
        }


@makes("TreeEnsembleRegressor", "TreeEnsembleClassifier")
def trees(op, rng):
    features, targets = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x = array(rng, np.float32, (int(rng.integers(1, 5)), features), 0.2)
    t = Trees(rng, features, int(rng.integers(1, 4)))
    attributes = {**t.attributes(), "nodes_missing_value_tracks_true": [int(v) for v in rng.integers(0, 2, len(t.nodes))]}
    if op == "TreeEnsembleRegressor":
        return learned(op, [x], {**attributes, **t.votes(rng, "target", targets), "n_targets": targets,
                                 "aggregate_function": pick(rng, ["SUM", "AVERAGE", "MIN", "MAX"])}, opset=pick(rng, [1, 3]))  # fmt: skip
    classes = targets + 2
    return learned(op, [x], {**attributes, **t.votes(rng, "class", classes), "classlabels_int64s": list(range(classes)),
                             "post_transform": pick(rng, TRANSFORMS[:3])}, 2, pick(rng, [1, 3]))  # fmt: skip


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
