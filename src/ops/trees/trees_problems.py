"""Problems of trees."""

from __future__ import annotations

import operator

import numpy as np
import onnx.helper as oh

from draw import array, chance, makes, pick
from known import attribute, differs, has_nan
from learned import TRANSFORMS, floats, learned
from problem import ORT, REFERENCE, Problem
from tolerances import LARGEST, held_to, sized


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


def tree(rng, features, depth, targets):
    """Lists of a TreeEnsemble's nodes and leaves, the root first."""
    nodes = {k: [] for k in ("featureids", "splits", "modes", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")}
    leaves = {"targetids": [], "weights": []}

    def leaf():
        leaves["targetids"].append(int(rng.integers(targets)))
        leaves["weights"].append(float(np.float32(rng.normal())))
        return len(leaves["weights"]) - 1

    def node(left):
        at = len(nodes["splits"])
        for k in nodes:
            nodes[k].append(0)
        nodes["featureids"][at] = int(rng.integers(features))
        nodes["splits"][at] = float(np.float32(rng.normal()))
        nodes["modes"][at] = int(rng.integers(6))  # ≤ < ≥ > = ≠
        for side in ("true", "false"):
            ends = left <= 0 or chance(rng, 0.3)
            nodes[side + "leafs"][at] = int(ends)
            nodes[side + "nodeids"][at] = leaf() if ends else node(left - 1)
        return at

    node(depth)
    return nodes, leaves


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


@makes("TreeEnsemble")
def tree_ensemble(op, rng):
    features, targets, dtype = int(rng.integers(1, 4)), int(rng.integers(1, 4)), pick(rng, [np.float32, np.float64])
    nodes, leaves = tree(rng, features, int(rng.integers(0, 4)), targets)
    element = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def tensor(values, kind):
        return oh.make_tensor("t", kind, [len(values)], values)

    attributes = {
        "n_targets": targets,
        "aggregate_function": int(rng.integers(4)),
        "post_transform": int(pick(rng, [0, 0, 0, 1, 2])),
        "tree_roots": [0],
        "nodes_featureids": nodes["featureids"],
        "nodes_splits": tensor(nodes["splits"], element),
        "nodes_modes": tensor(nodes["modes"], 2),
        "nodes_truenodeids": nodes["truenodeids"],
        "nodes_falsenodeids": nodes["falsenodeids"],
        "nodes_trueleafs": nodes["trueleafs"],
        "nodes_falseleafs": nodes["falseleafs"],
        "leaf_targetids": leaves["targetids"],
        "leaf_weights": tensor(leaves["weights"], element),
    }
    x = array(rng, dtype, (int(rng.integers(1, 5)), features), 0)
    return Problem(op, [x], attributes, opset=5, domain="ai.onnx.ml")


sized(LARGEST, "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor")
held_to(2, "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor")

_BRANCHES = {"LEQ": operator.le, "LT": operator.lt, "GTE": operator.ge, "GT": operator.gt, "EQ": operator.eq, "NEQ": operator.ne}


def _silence_wins(p):
    """TreeEnsembleClassifier: is there a row whose votes are all negative, and a class that nobody votes for?"""
    a = p.attributes
    columns = ("featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    nodes = dict(zip(zip(a["nodes_treeids"], a["nodes_nodeids"]), zip(*(a[f"nodes_{name}"] for name in columns))))
    votes = list(zip(zip(a["class_treeids"], a["class_nodeids"]), a["class_ids"], a["class_weights"]))

    def leaf(tree, row):
        node = 0
        while nodes[tree, node][2] != "LEAF":
            feature, value, mode, yes, no, missing = nodes[tree, node]
            x = row[feature]
            node = yes if _BRANCHES[mode.removeprefix("BRANCH_")](x, value) or (missing and np.isnan(x)) else no
        return tree, node

    for row in p.inputs[0]:
        reached, scores = {leaf(tree, row) for tree in set(a["nodes_treeids"])}, {}
        for at, class_, weight in votes:
            if at in reached:
                scores[class_] = scores.get(class_, 0) + weight
        if len(scores) < len(a["classlabels_int64s"]) and max(scores.values(), default=0) < 0:
            return True
    return False


differs("TreeEnsembleClassifier", ORT, "votes that are all negative, and a class without any", _silence_wins,
        "the greatest of the votes wins; here the greatest score of all classes, which is 0")  # fmt: skip
differs("TreeEnsemble", ORT, "SOFTMAX or LOGISTIC", lambda p: attribute(p, "post_transform") in (1, 2), "takes one number for the other")
differs("TreeEnsemble", REFERENCE, "a transform", lambda p: attribute(p, "post_transform") != 0, "leaves it out")
differs("TreeEnsemble", REFERENCE, "MIN or MAX", lambda p: attribute(p, "aggregate_function") in (2, 3),
        "gives the greatest number there is where no leaf votes; here 0, as in ONNX Runtime")  # fmt: skip
differs("TreeEnsembleRegressor", REFERENCE, "MIN or MAX", lambda p: p.attributes["aggregate_function"] in ("MIN", "MAX"),
        "gives the greatest number there is where no leaf votes; here 0, as in ONNX Runtime")  # fmt: skip
differs("TreeEnsembleRegressor TreeEnsembleClassifier", ORT, "NaN and BRANCH_NEQ", lambda p: has_nan(p) and "BRANCH_NEQ" in p.attributes["nodes_modes"],
        "NaN is unequal to all; the standard: it goes where nodes_missing_value_tracks_true says")  # fmt: skip
differs("TreeEnsembleClassifier", REFERENCE, "votes for one class alone", lambda p: len(set(p.attributes["class_ids"])) == 1,
        "takes it for one of two classes, however many there are")  # fmt: skip
